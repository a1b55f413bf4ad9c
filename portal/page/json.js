import {element, printable} from './element.js';

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
    if (opened !== closes || before === ',') {
      // "{}" stays together
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
 * Parses JSON; whole numbers that JavaScript would round become a BigInt, if the browser passes on their digits.
 */
export function read(text) {
  if (!/(?:^|[^.\d])\d{16}/.test(text)) {
    return JSON.parse(text); // much faster, and all whole numbers are exact
  }
  return JSON.parse(text, (_, value, context) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source) ? BigInt(context.source) : value,
  );
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

// JSON as a tree whose numbers keep their digits, unlike what JSON.parse makes of them: {kind: 'object', members:
// [[name, tree]]}, {kind: 'array', items: [tree]}, {kind: 'string', value}, {kind: 'word', text}.

const deepest = 1000; // levels of a tree, all of which have room on the stack of a browser

/**
 * Reads JSON.
 * @returns {Object|null} null if the text is not JSON, or is nested too deep
 */
export function parseTree(text) {
  if (!isJSON(text)) {
    return null;
  }
  const left = tokens(text).reverse();
  return isDeep(left) ? null : take(left);
}

/** Why parseTree returns null: "is no JSON". */
export function whyNoTree(text) {
  return isJSON(text) ? `is nested too deep: the limit is ${deepest} levels` : 'is no JSON';
}

/** Whether the tokens, the last one first, are nested deeper than a tree. */
function isDeep(left) {
  let depth = 0;
  return left.some((one) => {
    depth += one === '}' || one === ']' ? 1 : one === '{' || one === '[' ? -1 : 0;
    return depth > deepest;
  });
}

function take(left) {
  const first = left.pop();
  switch (first) {
    case '{':
      return {
        kind: 'object',
        members: takeList(left, '}', () => {
          const name = JSON.parse(left.pop());
          left.pop(); // the colon
          return [name, take(left)];
        }),
      };
    case '[':
      return {kind: 'array', items: takeList(left, ']', () => take(left))};
    default:
      return first.startsWith('"') ? {kind: 'string', value: JSON.parse(first)} : {kind: 'word', text: first};
  }
}

function takeList(left, end, takeOne) {
  const list = [];
  while (left.at(-1) !== end) {
    if (left.at(-1) === ',') {
      left.pop();
    }
    list.push(takeOne());
  }
  left.pop();
  return list;
}

/** Writes a tree as JSON on one line. */
export function treeText(tree) {
  switch (tree.kind) {
    case 'object':
      return objectText(tree.members.map(([name, value]) => [name, treeText(value)]));
    case 'array':
      return `[${tree.items.map(treeText).join(',')}]`;
    default:
      return tree.kind === 'string' ? JSON.stringify(tree.value) : tree.text;
  }
}

/** Writes an object whose values are JSON already. */
export function objectText(members) {
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

const longest = 200_000; // characters shown
const longestColoured = 40_000; // elements need more memory than text

/** Shows a text, JSON indented and coloured, up to a reasonable length. */
export function textView(text, label, streamed = false) {
  const json = isJSON(text);
  const whole = json ? indent(text, longest) : text;
  let shown = whole;
  if (whole.length > longest) {
    const note = `… (cut, of ${text.length} characters)`;
    shown = streamed ? `${note}\n${whole.slice(-longest)}` : `${whole.slice(0, longest)}\n${note}`;
  }
  const view = element('pre', {tabIndex: 0, role: 'group', 'aria-label': label});
  shown = printable(shown);
  view.append(...(json && shown.length <= longestColoured ? coloured(shown) : [shown]));
  return view;
}

/** The parts of indented JSON, with words in coloured elements. */
function coloured(text) {
  const parts = [];
  let at = 0;
  const words = tokens(text);
  words.forEach((word, index) => {
    const found = text.indexOf(word, at);
    if (/^[{}[\],:]$/.test(word)) {
      return;
    }
    parts.push(text.slice(at, found), element('span', {className: kindOf(word, words[index + 1])}, word));
    at = found + word.length;
  });
  parts.push(text.slice(at));
  return parts;
}

function kindOf(word, next) {
  if (!word.startsWith('"')) {
    return 'json-word';
  }
  return next === ':' ? 'json-name' : 'json-string';
}
