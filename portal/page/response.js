import {copyButton, saveButton} from './buttons.js';
import {element, pluralize} from './element.js';
import {bytesText} from './eventfigures.js';
import {textView} from './json.js';
import {compactNumber, durationText} from './mapdata.js';
import {traceLink} from './traceids.js';

/** Shows the answers of all instances, in order of arrival. */
export function answersView({answers, complete, milliseconds, traceId}) {
  const view = element(
    'div',
    {className: 'response'},
    element(
      'p',
      {className: 'outcome'},
      element('strong', {}, pluralize(answers.length, 'answer')),
      ' ',
      timeView(milliseconds),
      ' ',
      traceLink(traceId),
    ),
  );
  if (answers.length === 0) {
    view.append(element('p', {className: 'quiet'}, 'Nobody serves this, or nobody took the call.'));
  }
  if (answers.length === 1) {
    view.append(element('p', {className: 'quiet'}, 'An operation with a queue is answered by one instance, whichever gets the call.'));
  }
  if (!complete) {
    view.append(element('p', {className: 'notice'}, 'There are more answers than are shown here.'));
  }
  view.append(element('ol', {className: 'answers'}, ...answers.map(answerView)));
  return view;
}

function answerView({host, id, msgId, status, header, body, length, cut, binary, failure, milliseconds}) {
  return element(
    'li',
    {},
    element(
      'p',
      {className: 'outcome'},
      statusView(status),
      ' ',
      element('code', {className: 'instance', title: `${host}, message ${msgId}`}, id),
      ' ',
      timeView(milliseconds),
    ),
    failure && element('p', {className: 'notice bad'}, failure),
    headersView(Object.entries(header || {})),
    binary
      ? element('p', {className: 'quiet'}, `${pluralize(length, 'byte')} that are no text.`)
      : !failure && bodyView(body || '', `Answer of ${id}`),
    cut && element('p', {className: 'quiet'}, `… cut, of ${pluralize(length, 'byte')}.`),
  );
}

const ofInterest = ['allow', 'cache-control', 'content-disposition', 'content-type', 'etag', 'location', 'retry-after', 'www-authenticate'];

export function pendingView() {
  return element('p', {className: 'quiet'}, 'Waiting for an answer …');
}

export function failureView(error) {
  return element('p', {className: 'notice bad'}, reason(error), ' ', traceLink(error.traceId));
}

function reason(error) {
  switch (error.name) {
    case 'AbortError':
      return 'Stopped. The call may have run.';
    case 'BrokenOff':
      return 'The stream broke off: the service failed, or is gone. What had come is below.';
    case 'NotSent':
      return error.message;
    case 'TypeError': // of fetch, which does not distinguish the reasons
      return 'No answer: the portal is out of reach, or the service redirects to another host, which the page never calls.';
    default:
      return `The answer cannot be shown: ${error.message}.`;
  }
}

/** Shows a response: the status, the duration, the instance, the headers and the body. */
export function responseView(result) {
  const {status, statusText, headers, url, redirected, bytes, cut, streamed, text, milliseconds, answered, traceId} = result;
  const type = headers.get('content-type') || '';
  const shown = ofInterest.filter((name) => headers.has(name)).map((name) => [name, headers.get(name)]);
  const others = [...headers].filter(([name]) => !ofInterest.includes(name));
  return element(
    'div',
    {className: 'response'},
    element(
      'p',
      {className: 'outcome'},
      statusView(status, statusText),
      ' ',
      !streamed && timeView(milliseconds),
      ' ',
      traceLink(traceId),
      bytes.byteLength > 0 && saveButton(bytes, type, fileName(headers, url)),
    ),
    streamed && streamView(result),
    redirected && element('p', {className: 'quiet'}, 'After a redirect to ', element('code', {}, new URL(url).pathname)),
    answered && whoView(answered),
    problemView(status, text),
    headersView(shown),
    others.length > 0 &&
      element('details', {}, element('summary', {className: 'quiet'}, pluralize(others.length, 'other header')), headersView(others)),
    cut > 0 && element('p', {className: 'quiet'}, `${pluralize(cut, 'byte')} before these are not shown.`),
    text === null
      ? element('p', {className: 'quiet'}, `${pluralize(bytes.byteLength, 'byte')} that are no text.`)
      : bodyView(text, 'Body of the response', streamed),
  );
}

/** How far a stream is: whether it runs or how it has ended, what has come, and the time, which runs as well. */
function streamView({stream, started, length, messages, milliseconds}) {
  const running = stream === 'running';
  const time = element('span', {}, durationText(milliseconds / 1000));
  const counted = [messages !== null && pluralize(messages, 'message', compactNumber), bytesText(length)].filter(Boolean).join(', ');
  const view = element(
    'p',
    {className: running ? 'stream running' : 'stream'},
    element('strong', {}, {running: 'Running', ended: 'Ended', stopped: 'Stopped', 'broken off': 'Broken off'}[stream]),
    element('span', {className: 'quiet'}, `: ${counted} in `, time),
  );
  if (running) {
    const ticking = setInterval(() => {
      if (view.isConnected) {
        time.textContent = durationText((performance.now() - started) / 1000);
      } else {
        clearInterval(ticking);
      }
    }, 500);
  }
  return view;
}

/** What a screen reader says of an answer at once: its outcome, not a body of any length. */
export function spokenOf(view) {
  const parts = [view.querySelector('.outcome strong'), view.querySelector('.stream strong'), view.querySelector('.notice')].filter(
    Boolean,
  );
  return parts.length > 0 ? parts.map(({textContent}) => textContent).join('. ') : view.textContent;
}

/** The name that the service gives to the body (RFC 6266), otherwise the end of its address. */
function fileName(headers, url) {
  const said = headers.get('content-disposition') || '';
  const [, encoded] = said.match(/;\s*filename\*=utf-8'[^']*'([^;\s]+)/i) || [];
  const [, quoted, bare] = said.match(/;\s*filename=(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i) || [];
  const plain = quoted?.replace(/\\(.)/g, '$1') || bare;
  return decoded(encoded) || plain || decoded(new URL(url).pathname.split('/').at(-1)) || 'body';
}

/** Text without percent encoding, "" if it has none that is UTF-8. */
function decoded(text = '') {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

export function statusView(status, text = '') {
  return element('strong', {className: `status ${status < 400 ? 'good' : 'bad'}`}, `${status} ${text}`.trim());
}

export function timeView(milliseconds) {
  return element('span', {className: 'quiet'}, `in ${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`);
}

export function whoView({id, host, message}) {
  return element(
    'p',
    {className: 'who'},
    'Answered by ',
    element('code', {className: 'answered'}, host),
    ', instance ',
    element('code', {className: 'instance'}, id),
    message && element('span', {className: 'quiet'}, ', message '),
    message && element('code', {className: 'message'}, message),
  );
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

export function headersView(headers) {
  return (
    headers.length > 0 && element('dl', {}, ...headers.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]))
  );
}

export function bodyView(text, label, streamed = false) {
  if (text === '') {
    return element('p', {className: 'quiet'}, 'The body is empty.');
  }
  return element(
    'div',
    {className: 'text'},
    copyButton(() => text, 'Copy the body'),
    textView(text, label, streamed),
  );
}
