import {callHash, callStore} from './callstore.js';
import {button, element, pluralize, redraw} from './element.js';
import {textView} from './json.js';
import {durationText} from './mapdata.js';
import {statusView} from './response.js';
import {traceLink} from './traceids.js';

/** The view of the calls made in this browser: {node, title, show()}. */
export class History {
  title = 'History';
  #send;
  #filter = element('input', {type: 'search', id: 'history-filter', placeholder: 'Filter', autocomplete: 'off', spellcheck: false});
  #count = element('p', {className: 'quiet', role: 'status'});
  #list = element('ol', {className: 'history-calls'});
  #clear = button('Clear', () => this.#ask(), {className: 'plain'});
  #rows = new Map(); // by the call as text, so that what is open stays so

  /** @param {function(string)} send opens the address of an operation with values, and calls it */
  constructor(send) {
    this.#send = send;
    this.#filter.addEventListener('input', () => this.#draw());
    this.node = element(
      'section',
      {className: 'history'},
      element('h2', {id: 'operation-title', tabIndex: -1}, 'History'),
      element(
        'p',
        {className: 'quiet'},
        'The calls that were made in this browser, which alone keeps them. Tokens, passwords, and what is called like a secret are not kept.',
      ),
      element(
        'div',
        {className: 'buttons'},
        element('label', {htmlFor: 'history-filter', className: 'visually-hidden'}, 'Filter calls'),
        this.#filter,
        this.#clear,
      ),
      this.#count,
      this.#list,
    );
    callStore.onChange(() => this.node.isConnected && this.#draw());
  }

  show() {
    this.#draw();
  }

  #ask() {
    callStore.clear();
    this.#filter.focus();
  }

  #draw() {
    const {calls} = callStore;
    const words = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = calls.filter((call) => words.every((word) => textOf(call).includes(word)));
    this.#count.textContent =
      calls.length === 0
        ? 'No calls yet. Each call that you send is listed here.'
        : found.length < calls.length
          ? `${found.length} of ${pluralize(calls.length, 'call')}`
          : pluralize(calls.length, 'call');
    this.#clear.disabled = calls.length === 0;
    const rows = new Map(found.map((call) => [JSON.stringify(call), call]));
    this.#rows = new Map([...rows].map(([text, call]) => [text, this.#rows.get(text) || this.#row(call)]));
    redraw(this.#list, ...this.#rows.values());
  }

  #row(call) {
    const {at, host, method, path, status, milliseconds, leftOut, traceId} = call;
    const hash = callHash(call);
    const when = new Date(at);
    const good = typeof status === 'number';
    return element(
      'li',
      {},
      element(
        'p',
        {className: 'history-call'},
        element('time', {dateTime: when.toISOString(), className: 'quiet'}, when.toLocaleString()),
        element('a', {href: hash}, element('span', {className: `method ${method}`}, method.toUpperCase()), ` ${host}${path}`),
        good ? statusView(status) : element('strong', {className: 'status bad'}, status),
        element('span', {className: 'quiet'}, durationText(milliseconds / 1000)),
        typeof traceId === 'string' && traceLink(traceId, `Trace of ${method.toUpperCase()} ${host}${path}`),
        leftOut.length === 0 &&
          button('Send again', () => this.#send(hash), {
            className: 'small',
            'aria-label': `Send again: ${method.toUpperCase()} ${host}${path}`,
          }),
      ),
      valuesView(call),
      leftOut.length > 0 && element('p', {className: 'quiet'}, `Not kept: ${leftOut.join(', ')}. Open it to fill that in.`),
      answerView(call, when),
    );
  }
}

function textOf({host, method, path, status, values, answer}) {
  return [method, host + path, status, ...new URLSearchParams(values), answer].join(' ').toLowerCase();
}

function valuesView({values}) {
  const pairs = [...new URLSearchParams(values)].map(([name, value]) => `${name.replace(/^~/, '')}=${clip(value)}`);
  return pairs.length > 0 && element('p', {className: 'history-values'}, element('code', {}, pairs.join('  ')));
}

function clip(value) {
  return value.length > 200 ? `${value.slice(0, 200)}…` : value;
}

function answerView({answer}, when) {
  if (!answer) {
    return null;
  }
  const details = element('details', {}, element('summary', {className: 'quiet'}, 'Answer'));
  details.addEventListener('toggle', () => details.append(textView(answer, `Answer of ${when.toLocaleTimeString()}`)), {once: true});
  return details;
}
