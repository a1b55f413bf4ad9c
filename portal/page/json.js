// JSON as text. Only white space is ever moved: numbers too large for JavaScript stay what they are.

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

// compact writes JSON on one line; other text stays as it is.
export function compact(text) {
  return isJSON(text) ? (text.match(token) || []).join('') : text;
}

// indent writes JSON on many lines; other text stays as it is.
export function indent(text) {
  if (!isJSON(text)) {
    return text;
  }
  let written = '';
  let depth = 0;
  let before = '';
  for (const next of text.match(token) || []) {
    const opened = before === '{' || before === '[';
    const closes = next === '}' || next === ']';
    depth += closes ? -1 : 0;
    const lineBegins = opened !== closes || before === ','; // "{}" stays together
    written += (lineBegins ? `\n${'  '.repeat(depth)}` : '') + (next === ':' ? ': ' : next);
    depth += next === '{' || next === '[' ? 1 : 0;
    before = next;
  }
  return written;
}

function isJSON(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
