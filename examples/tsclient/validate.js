// Validates each document that the arguments name.
import parser from '@apidevtools/swagger-parser';

for (const file of process.argv.slice(2)) {
  await parser.validate(file);
}
