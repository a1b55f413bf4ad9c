// Validates each AsyncAPI document that the arguments name: neither errors nor warnings.
import {readFile} from 'node:fs/promises';
import {Parser} from '@asyncapi/parser';

const warning = 1; // and 0 is an error
const parser = new Parser();
for (const file of process.argv.slice(2)) {
  const {document, diagnostics} = await parser.parse(await readFile(file, 'utf8'));
  for (const {code, path, message} of diagnostics.filter((d) => d.severity <= warning)) {
    console.error(`${file}: ${path.join('/')}: ${code}: ${message}`);
    process.exitCode = 1;
  }
  if (!document) {
    process.exitCode = 1;
  }
}
