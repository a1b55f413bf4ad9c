// Checks that texts match patterns, or do not, as a file of the tests says.
import {readFileSync} from 'node:fs';

const wrong = JSON.parse(readFileSync(process.argv[2], 'utf8')).flatMap(({pattern, matches, others}) => {
  const expression = new RegExp(pattern, 'u');
  return [...matches.filter((text) => !expression.test(text)), ...others.filter((text) => expression.test(text))].map(
    (text) => `${pattern} ${JSON.stringify(text)}`,
  );
});
if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exit(1);
}
