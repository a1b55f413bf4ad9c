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

/** Formats JSON on many lines, up to some more characters than most; other text stays as it is. */
export function indent(text, most = Infinity) {
  if (!isJSON(text)) {
    return text;
  }
  const written = []; // joined once: a body may have some megabytes
  let depth = 0;
  let before = '';
  let length = 0; // without separators
  for (const [next] of text.matchAll(token)) {
    const opened = before === '{' || before === '[';
    const closes = next === '}' || next === ']';
    depth += closes ? -1 : 0;
    if (opened !== closes || before === ',') { // "{}" stays together
      const line = `\n${'  '.repeat(depth)}`;
      written.push(line);
      length += line.length;
    }
    written.push(next === ':' ? ': ' : next);
    depth += next === '{' || next === '[' ? 1 : 0;
    before = next;
    length += next.length;
    if (length > most) {
      break;
    }
  }
  return written.join('').trimStart();
}

/**
 * Parses JSON; whole numbers that JavaScript would round become a BigInt, if the browser tells their digits.
 */
export function read(text) {
  return JSON.parse(text, (_, value, context) => (
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source) ? BigInt(context.source) : value));
}

/** Writes as JSON what read returns. */
export function write(value) {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? JSON.rawJSON(String(part)) : part));
}

export function isJSON(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
