import {ask} from './confirm.js';
import {button, element, isolated, newID, pluralize} from './element.js';
import {misfits} from './fits.js';
import {compact, parseTree, read, textView, whyNoTree, write} from './json.js';
import {compactNumber} from './mapdata.js';
import {post} from './request.js';
import {isNothing, schemaView} from './schema.js';

const followPause = 2000; // milliseconds
const mostRows = 500;
const longestLine = 160; // characters of a body in one line
const notAsked = 'Only operators may read them; the option portal.WithOperators of the portal says who they are.';

/** The stored messages of an event, the newest first, which an operator may deliver again. */
export class Messages {
  node = element('section', {'aria-label': 'Stored messages', className: 'messages'});
  #event;
  #caller;
  #operator = null; // not known yet
  #services = []; // that subscribe to it durably
  #asking = null; // the running request
  #latest = 0; // the sequence of the newest one
  #before = 0; // where older ones begin
  #timer = 0;
  #filter;
  #key = field('Key', 'text');
  #since = field('Since', 'datetime-local');
  #until = field('Until', 'datetime-local');
  #text = field('Text in the body', 'text');
  #follow = element('input', {type: 'checkbox', id: newID('follow'), onchange: () => this.#showNew()});
  #state = element('p', {className: 'quiet', role: 'status'});
  #table;
  #more = button('Show older', () => this.#load(this.#before), {className: 'small', hidden: true});

  constructor(event, caller) {
    this.#caller = caller;
    this.#filter = element(
      'form',
      {className: 'message-filter', 'aria-label': 'Filter stored messages', hidden: true},
      this.#since.node,
      this.#until.node,
      this.#key.node,
      this.#text.node,
      element(
        'div',
        {className: 'buttons'},
        element('button', {type: 'submit', className: 'plain'}, 'Show'),
        this.#follow,
        element('label', {htmlFor: this.#follow.id}, 'Follow new ones'),
      ),
    );
    this.#filter.addEventListener('submit', (submitted) => {
      submitted.preventDefault();
      this.#load(0);
    });
    this.#table = element(
      'table',
      {className: 'event-table message-table', hidden: true},
      element('thead', {}, element('tr', {}, ...['Stored', 'Arguments'].map((title) => element('th', {scope: 'col'}, title)))),
    );
    this.node.append(element('h3', {}, 'Stored messages'), this.#filter, this.#state, this.#table, this.#more);
    this.update(event);
  }

  /** Takes over a new description of the event. */
  update(event) {
    this.#event = event;
    this.node.hidden = !event.durable;
    this.#key.node.hidden = !event.key;
    this.#key.label.textContent = `Key: ${event.key}`;
  }

  /** Follows the figures: whether the caller may read the messages, and which services subscribe. */
  apply(operator, services) {
    this.#services = services;
    if (operator === this.#operator || !this.#event.durable) {
      return;
    }
    this.#operator = operator;
    this.#filter.hidden = !operator;
    if (operator) {
      this.#load(0);
    } else {
      this.forget();
      this.#operator = false;
      this.#say(notAsked);
    }
  }

  /** Removes what was for another caller. */
  forget() {
    this.#asking?.abort();
    clearTimeout(this.#timer);
    this.#operator = this.#asking = null;
    this.#clear();
    this.#table.hidden = this.#more.hidden = this.#filter.hidden = true;
    this.#follow.checked = false;
    this.#say('');
  }

  #clear() {
    for (const row of [...this.#table.tBodies]) {
      row.remove();
    }
  }

  #say(text) {
    if (this.#state.textContent !== text) {
      this.#state.textContent = text;
    }
  }

  /** Shows a page of messages: the newest for before 0, which replaces what is shown. */
  async #load(before) {
    const found = await this.#ask(before ? {before} : {});
    if (!found) {
      return;
    }
    if (!before) {
      this.#clear();
      this.#latest = found.messages[0]?.sequence ?? 0;
    }
    this.#table.append(...found.messages.map((message) => this.#row(message)));
    this.#before = found.before;
    this.#more.hidden = !found.before || this.#table.tBodies.length >= mostRows;
    this.#table.hidden = this.#table.tBodies.length === 0;
    this.#say(this.#countText(found));
    this.#showNew();
  }

  #countText({before, read: count, reached, messages}) {
    const shown = this.#table.tBodies.length;
    const back = messages.length < count && before > 0 ? ` Searched back to ${new Date(reached).toLocaleString()}.` : '';
    return `${shown === 0 ? 'None found.' : `${pluralize(shown, 'message')}, the newest first.`}${back}`;
  }

  /** Shows what is stored from now on, while that is wanted and the page is seen. */
  #showNew() {
    clearTimeout(this.#timer);
    if (!this.#follow.checked) {
      return;
    }
    this.#timer = setTimeout(async () => {
      if (this.node.isConnected && document.visibilityState === 'visible') {
        await this.#prepend();
      }
      this.#showNew();
    }, followPause);
  }

  async #prepend() {
    const found = await this.#ask({after: this.#latest});
    if (!found || !this.#follow.checked || found.messages.length === 0) {
      return;
    }
    this.#latest = found.messages[0].sequence;
    this.#table.tHead.after(...found.messages.map((message) => this.#row(message)));
    while (this.#table.tBodies.length > mostRows) {
      this.#table.lastChild.remove();
      this.#before = 0;
      this.#more.hidden = true;
    }
    this.#table.hidden = false;
    const missed = found.before > 0 ? ' More were stored than are shown.' : '';
    this.#say(`${pluralize(found.messages.length, 'new message')} at ${new Date().toLocaleTimeString()}.${missed}`);
  }

  /** Asks the portal; null if there is no answer for this caller. */
  async #ask(where) {
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    try {
      const {publisher, name, key} = this.#event;
      const query = {publisher, event: name, text: this.#text.value, key: this.#key.value, keyName: key, ...where};
      for (const [of, {value}] of [
        ['since', this.#since],
        ['until', this.#until],
      ]) {
        query[of] = value && new Date(value).toISOString();
      }
      const given = Object.entries(query).filter(([, value]) => value !== '' && value !== undefined);
      const response = await fetch(`messages.json?${new URLSearchParams(given)}`, {
        headers: {Accept: 'application/json', ...this.#caller.headers},
        credentials: 'omit',
        signal: asking.signal,
      });
      const answer = read(await response.text());
      if (!response.ok) {
        throw new Error(answer.detail || `the portal answers ${response.status}`);
      }
      return this.#asking === asking ? answer : null;
    } catch (error) {
      if (this.#asking === asking) {
        this.#say(`They cannot be read: ${error.message}.`);
      }
      return null;
    }
  }

  /** The lines of a message: what it is, and all about it. */
  #row(message) {
    const {sequence, stored, body, bytes} = message;
    const when = new Date(stored).toLocaleString();
    const about = element('tr', {className: 'details', id: newID('message'), hidden: true}, element('td', {colSpan: 2}));
    const open = button(
      bytes ? 'bytes that are no text' : isolated(clip(compact(body)) || 'nothing'),
      () => {
        if (about.hidden && !about.firstChild.firstChild) {
          about.firstChild.append(messageView(message, this.#event, this.#replayButtons(message, when)));
        }
        about.hidden = !about.hidden;
        open.setAttribute('aria-expanded', String(!about.hidden));
      },
      {className: 'open', 'aria-expanded': 'false', 'aria-controls': about.id},
    );
    return element(
      'tbody',
      {className: 'message-row'},
      element(
        'tr',
        {},
        element('td', {'data-label': 'Stored'}, element('time', {dateTime: stored, title: `Sequence ${sequence}`}, when)),
        element('td', {'data-label': 'Arguments'}, open),
      ),
      about,
    );
  }

  #replayButtons({sequence, stored}, when) {
    const again = (text, which) =>
      button(text, () => this.#replay(which, when), {className: 'small', 'aria-label': `${text}: message ${sequence} of ${when}`});
    return element(
      'div',
      {className: 'buttons'},
      again('Deliver this again', {sequence}),
      again('Deliver all from here on again', {from: stored}),
    );
  }

  /** Delivers messages again to a service that the user chooses, after a question that has their number. */
  async #replay(which, when) {
    const {publisher, name} = this.#event;
    if (this.#services.length === 0) {
      this.#say('No service has subscribed to it durably, so there is none to deliver it to.');
      return;
    }
    const to = element('select', {id: newID('service')}, ...this.#services.map((service) => element('option', {value: service}, service)));
    const about = element('p', {role: 'status'});
    const question = ask(
      'Deliver again?',
      'Deliver again',
      element('div', {className: 'field'}, element('label', {htmlFor: to.id}, 'To'), to),
      about,
    );
    const send = (more) => this.#send({publisher, service: to.value, event: name, ...which, ...more});
    const count = async () => {
      question.act.disabled = true;
      const {value: service} = to;
      const {events, failure} = await send({count: true});
      if (to.value === service) {
        question.title.textContent = failure ? 'Deliver again?' : `Deliver ${pluralize(events, 'message', compactNumber)} again?`;
        about.textContent =
          failure ||
          (which.sequence
            ? `${service} gets the message of ${when} again.`
            : `${service} gets what was stored since ${when} again, and what it has not handled yet.`);
        question.act.disabled = Boolean(failure);
      }
    };
    to.addEventListener('input', count);
    count();
    if (await question.done) {
      const {events, failure} = await send({});
      this.#say(failure || `${pluralize(events, 'message', compactNumber)} delivered again to ${to.value}, as soon as it runs.`);
    }
  }

  async #send(request) {
    try {
      const {status, text} = await post('replay', write(request), this.#caller);
      const answer = read(text);
      return status < 300 ? answer : {failure: `Not possible: ${answer.detail || `the portal answers ${status}`}.`};
    } catch (error) {
      return {failure: `No answer: ${error.message}. It may have been done.`};
    }
  }
}

function field(title, type) {
  const input = element('input', {type, id: newID('message'), autocomplete: 'off', spellcheck: false});
  if (type === 'datetime-local') {
    input.step = 1;
  }
  const label = element('label', {htmlFor: input.id}, title);
  return {
    node: element('div', {className: 'field'}, label, input),
    label,
    get value() {
      return input.value;
    },
  };
}

function clip(text) {
  return text.length > longestLine ? `${text.slice(0, longestLine)}…` : text;
}

/** A message with what of it does not fit its schema, and that schema. */
function messageView({body, bytes, msgId, id, sequence}, {payload, signature}, buttons) {
  const tree = bytes ? null : parseTree(body);
  const wrong = tree && payload ? misfits(tree, payload) : [];
  return element(
    'div',
    {className: 'message-details'},
    element(
      'div',
      {},
      element(
        'p',
        {className: 'quiet'},
        `Sequence ${sequence}, message `,
        element('code', {}, isolated(msgId || 'without an id')),
        id && id !== msgId && ', id ',
        id && id !== msgId && element('code', {}, isolated(id)),
      ),
      !tree && element('p', {className: 'notice'}, bytes ? 'The body is no text; these are its bytes.' : `The body ${whyNoTree(body)}.`),
      wrong.length > 0 &&
        element(
          'div',
          {className: 'notice'},
          'It does not fit the schema that the publisher has now:',
          element('ul', {}, ...wrong.map((text) => element('li', {}, isolated(text)))),
        ),
      textView(bytes ? hexadecimal(bytes) : body, `Message ${sequence}`),
      buttons,
    ),
    payload && !isNothing(payload) && element('div', {}, element('p', {className: 'quiet'}, 'Schema'), schemaView(payload, signature)),
  );
}

/** Bytes in base64 as hexadecimal digits. */
function hexadecimal(bytes) {
  return [...atob(bytes)].map((one) => one.charCodeAt(0).toString(16).padStart(2, '0')).join(' ');
}
