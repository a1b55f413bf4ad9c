import {element} from './element.js';
import {indent} from './json.js';

const ofInterest = ['content-type', 'content-length', 'location', 'allow', 'retry-after', 'etag', 'content-disposition'];
const longest = 200_000; // characters shown

export function pendingView() {
  return element('p', {className: 'quiet'}, 'Waiting for an answer …');
}

export function failureView(error) {
  const text = error.name === 'AbortError' ? 'Stopped. The call may have run.' : `No answer: ${error.message}`;
  return element('p', {className: 'notice bad'}, text);
}

// responseView shows the status, how long it took, some headers and the body.
export function responseView({status, statusText, headers, text, milliseconds}) {
  const level = status < 400 ? 'good' : 'bad';
  const view = element('div', {className: 'response'},
    element('p', {},
      element('strong', {className: `status ${level}`}, `${status} ${statusText}`),
      element('span', {className: 'quiet'}, ` in ${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`)));
  const told = ofInterest.filter((name) => headers.has(name));
  if (told.length > 0) {
    view.append(element('dl', {}, ...told.flatMap((name) => [element('dt', {}, name), element('dd', {}, headers.get(name))])));
  }
  const body = readable(text, headers.get('content-type') || '');
  view.append(body ? element('pre', {tabIndex: 0}, body) : element('p', {className: 'quiet'}, 'The body is empty.'));
  return view;
}

function readable(text, type) {
  if (/^(image|audio|video|font)\/|octet-stream/.test(type)) {
    return `(${text.length} characters of ${type})`;
  }
  const shown = /json/.test(type) ? indent(text) : text;
  return shown.length > longest ? `${shown.slice(0, longest)}\n… (${shown.length - longest} more characters)` : shown;
}
