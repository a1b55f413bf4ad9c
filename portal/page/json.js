// JSON as text. Only white space is changed: numbers too large for JavaScript keep their digits.

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The tokens of a JSON text, strings with their quotes. */
export function tokens(text) {
  return text.match(token) || [];
}

/** Formats JSON on one line; other text stays as it is. */
export function compact(text) {
  return isJSON(text) ? tokens(text).join('') : text;
}

/** Formats JSON on many lines; other text stays as it is. */
export function indent(text) {
  if (!isJSON(text)) {
    return text;
  }
  const written = []; // joined once: a body may have some megabytes
  let depth = 0;
  let before = '';
  for (const next of tokens(text)) {
    const opened = before === '{' || before === '[';
    const closes = next === '}' || next === ']';
    depth += closes ? -1 : 0;
    if (opened !== closes || before === ',') { // "{}" stays together
      written.push('\n', '  '.repeat(depth));
    }
    written.push(next === ':' ? ': ' : next);
    depth += next === '{' || next === '[' ? 1 : 0;
    before = next;
  }
  return written.join('').trimStart();
}

export function isJSON(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
