import {typeID} from './document.js';

// The search: it finds operations, events and types by name, path, arguments, types and texts, and ranks them in this
// order. If a word is found nowhere, words that differ from it by one edit are.

const shortestTypo = 4; // letters of a word that may have a typo
const deepest = 3; // nested members

const indexes = new WeakMap(); // by part

/**
 * Finds parts by words.
 * @param {Object[]} parts operations, events and types
 * @param {string[]} words in lower case
 * @returns {{hits: {part: Object, rank: number, matched: string}[], similar: boolean}} the order of the parts is kept; rank is less for
 *   better ones; matched says what has matched, unless that is the name or the path; similar reports that only words like these are found
 */
export function search(parts, words) {
  const exact = findAll(parts, words, (text, word) => text.includes(word));
  if (exact.length > 0 || !words.some((word) => word.length >= shortestTypo)) {
    return {hits: exact, similar: false};
  }
  const alike = (text, word) => text.includes(word) || (word.length >= shortestTypo && wordsOf(text).some((one) => isNear(one, word)));
  return {hits: findAll(parts, words, alike), similar: true};
}

function findAll(parts, words, matches) {
  return parts.map((part) => find(part, words, matches)).filter(Boolean);
}

function find(part, words, matches) {
  const index = indexOf(part);
  let rank = 0;
  const matched = new Set();
  for (const word of words) {
    const at = index.findIndex(({text}) => matches(text, word));
    if (at < 0) {
      return null;
    }
    const {level, kind, entries} = index[at];
    const own = level === 0 && entries.some((one) => one.toLowerCase() === word) ? -1 : 0; // the whole name
    rank += level + own;
    if (kind) {
      const entry = entries.find((one) => matches(one.toLowerCase(), word));
      matched.add(kind === 'text' ? kind : `${kind} ${entry}`);
    }
  }
  return {part, rank, matched: [...matched].join(', ')};
}

/** What can be found of a part, the best first: {level, kind, entries, text}. */
function indexOf(part) {
  if (!indexes.has(part)) {
    const levels = [
      [0, '', [part.name || '', (part.path || '').split('/').at(-1)].filter(Boolean)],
      [1, '', [[part.host || part.publisher, part.method, part.path, part.publisher ? 'event' : ''].filter(Boolean).join(' ')]],
      [2, 'argument', argumentsOf(part)],
      [2, 'result', [...new Set((part.responses || []).flatMap(({contents}) => contents.flatMap(({schema}) => membersOf(schema))))]],
      [2, 'field', part.isType ? membersOf(part.schema) : []],
      [2, 'type', typesOf(part)],
      [3, 'text', [part.signature || '', part.description || part.schema?.schema.description || '']],
    ];
    indexes.set(
      part,
      levels.map(([level, kind, entries]) => ({level, kind, entries, text: entries.join('\n').toLowerCase()})),
    );
  }
  return indexes.get(part);
}

function schemasOf({parameters = [], body, responses = [], payload}) {
  const contents = responses.filter(({status}) => status.startsWith('2')).flatMap((one) => one.contents);
  return [...parameters, body, ...contents, payload && {schema: payload}].filter(Boolean).map(({schema}) => schema);
}

function argumentsOf({parameters = [], body, payload}) {
  const whole = [body?.schema, payload].filter(Boolean);
  return [...new Set([...parameters.map(({name}) => name), ...whole.flatMap((schema) => membersOf(schema))])];
}

/** The names of an object's members, also of those inside them. */
function membersOf(schema, depth = 0, within = new Set()) {
  if (depth >= deepest || within.has(schema.schema)) {
    return [];
  }
  within.add(schema.schema);
  const {properties = {}, items, additionalProperties, oneOf = [], anyOf = [], allOf = []} = schema.schema;
  const inner = [items, typeof additionalProperties === 'object' && additionalProperties, ...oneOf, ...anyOf, ...allOf].filter(Boolean);
  return [
    ...Object.keys(properties),
    ...[...Object.values(properties), ...inner].flatMap((one) => membersOf(schema.follow(one), depth + 1, within)),
  ];
}

function typesOf(part) {
  const names = new Set();
  const visit = ({component, schema, follow}, depth) => {
    if (component) {
      names.add(typeID(component).name);
    }
    for (const inner of [schema.items, schema.additionalProperties, ...Object.values(schema.properties || {})]) {
      if (depth < deepest && typeof inner === 'object') {
        visit(follow(inner), depth + 1);
      }
    }
  };
  for (const schema of schemasOf(part)) {
    visit(schema, 0);
  }
  return [...names].filter((name) => !/_(in|out)$/.test(name));
}

function wordsOf(text) {
  return text.split(/[^\p{L}\p{N}]+/u);
}

/** Whether two words differ by one letter more, less, other, or two that have changed places. */
export function isNear(a, b) {
  if (Math.abs(a.length - b.length) > 1) {
    return false;
  }
  let at = 0;
  while (at < a.length && a[at] === b[at]) {
    at++;
  }
  const swapped = a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
  return swapped || a.slice(at + 1) === b.slice(at + 1) || a.slice(at) === b.slice(at + 1) || a.slice(at + 1) === b.slice(at);
}
