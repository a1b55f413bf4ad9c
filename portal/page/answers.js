import {element, many} from './element.js';
import {bodyView, headersView, statusView, timeView} from './response.js';

/** Shows the answers of all instances, in order of arrival. */
export function answersView({answers, complete, milliseconds}) {
  const view = element('div', {className: 'response'},
    element('p', {className: 'outcome'}, element('strong', {}, many(answers.length, 'answer')), ' ', timeView(milliseconds)));
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
  return element('li', {},
    element('p', {className: 'outcome'}, statusView(status), ' ',
      element('code', {className: 'instance', title: `${host}, message ${msgId}`}, id), ' ', timeView(milliseconds)),
    failure && element('p', {className: 'notice bad'}, failure),
    headersView(Object.entries(header || {})),
    binary ? element('p', {className: 'quiet'}, `${length} bytes that are no text.`) : !failure && bodyView(body || '', `Answer of ${id}`),
    cut && element('p', {className: 'quiet'}, `… cut, of ${length} bytes.`));
}
