// Validates each OpenAPI document that the arguments name. Compiles the schemas of OpenAPI 3.1, which are those of JSON
// Schema 2020-12.
import {readFile} from 'node:fs/promises';
import parser from '@apidevtools/swagger-parser';
import Ajv from 'ajv/dist/2020.js';

/** Yields the pointers of all components, and of all schemas of bodies and parameters. */
function* schemas(value, place = '#') {
  if (typeof value !== 'object' || value === null) {
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    const at = `${place}/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`;
    if (name === 'schema' || place === '#/components/schemas') {
      yield at;
    } else {
      yield* schemas(member, at);
    }
  }
}

for (const file of process.argv.slice(2)) {
  await parser.validate(file);
  const document = JSON.parse(await readFile(file, 'utf8'));
  if (document.openapi.startsWith('3.1.')) {
    const ajv = new Ajv({validateFormats: false, keywords: ['discriminator', ...Object.keys(document)], strictTypes: false});
    ajv.addSchema(document, 'https://validate.invalid/document', undefined, false);
    for (const at of schemas(document)) {
      ajv.compile({$ref: `https://validate.invalid/document${at}`});
    }
  }
}
