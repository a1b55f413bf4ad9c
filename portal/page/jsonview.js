import {element} from './element.js';
import {indent, isJSON, tokens} from './json.js';

const longest = 200_000; // characters shown
const longestColoured = 40_000; // elements need more memory than text

/** Shows a text, JSON indented and coloured, up to a reasonable length. */
export function textView(text, label) {
  const json = isJSON(text);
  const whole = json ? indent(text, longest) : text;
  const shown = whole.length > longest ? `${whole.slice(0, longest)}\n… (cut, of ${text.length} characters)` : whole;
  const view = element('pre', {tabIndex: 0, role: 'group', 'aria-label': label});
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
