import {isJSON, tokens} from './json.js';

// JSON as a tree whose numbers keep their digits, unlike what JSON.parse makes of them:
// {kind: 'object', members: [[name, tree]]}, {kind: 'array', items: [tree]}, {kind: 'string', value}, {kind: 'word', text}.

/**
 * Reads JSON.
 * @returns {Object|null} null if the text is not JSON
 */
export function parseTree(text) {
  if (!isJSON(text)) {
    return null;
  }
  const left = tokens(text).reverse();
  return take(left);
}

function take(left) {
  const first = left.pop();
  switch (first) {
    case '{':
      return {kind: 'object', members: takeList(left, '}', () => {
        const name = JSON.parse(left.pop());
        left.pop(); // the colon
        return [name, take(left)];
      })};
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
