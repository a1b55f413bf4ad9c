import {copyButton} from './copy.js';
import {element} from './element.js';
import {textView} from './jsonview.js';

const ofInterest = ['allow', 'cache-control', 'content-disposition', 'content-type', 'etag', 'location', 'retry-after', 'www-authenticate'];

export function pendingView() {
  return element('p', {className: 'quiet'}, 'Waiting for an answer …');
}

export function failureView(error) {
  return element('p', {className: 'notice bad'}, reason(error));
}

function reason(error) {
  switch (error.name) {
    case 'AbortError':
      return 'Stopped. The call may have run.';
    case 'NotSent':
      return error.message;
    default:
      return 'No answer: the portal is out of reach.';
  }
}

/** Shows a response: the status, the duration, the instance, some headers and the body. */
export function responseView({status, statusText, headers, text, milliseconds, answered}) {
  const told = ofInterest.filter((name) => headers.has(name)).map((name) => [name, headers.get(name)]);
  return element('div', {className: 'response'},
    element('p', {className: 'outcome'}, statusView(status, statusText), ' ', timeView(milliseconds)),
    answered && whoView(answered),
    problemView(status, text),
    headersView(told),
    bodyView(text, headers.get('content-type') || '', 'Body of the response'));
}

export function statusView(status, text = '') {
  return element('strong', {className: `status ${status < 400 ? 'good' : 'bad'}`}, `${status} ${text}`.trim());
}

export function timeView(milliseconds) {
  return element('span', {className: 'quiet'}, `in ${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`);
}

export function whoView({id, host, message}) {
  return element('p', {className: 'who'},
    'Answered by ', element('code', {className: 'answered'}, host), ', instance ', element('code', {className: 'instance'}, id),
    message && element('span', {className: 'quiet'}, ', message '), message && element('code', {className: 'message'}, message));
}

/** The detail of a problem, which is shown first. */
function problemView(status, text) {
  if (status < 400) {
    return null;
  }
  try {
    const {detail} = JSON.parse(text);
    return typeof detail === 'string' && element('p', {className: 'notice bad'}, detail);
  } catch {
    return null;
  }
}

export function headersView(told) {
  return told.length > 0 && element('dl', {}, ...told.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]));
}

export function bodyView(text, type, label) {
  if (/^(image|audio|video|font)\/|octet-stream/.test(type)) {
    return element('p', {className: 'quiet'}, `${text.length} characters of ${type}, which are not shown.`);
  }
  if (text === '') {
    return element('p', {className: 'quiet'}, 'The body is empty.');
  }
  return element('div', {className: 'text'}, copyButton(() => text, 'Copy the body'), textView(text, label));
}
