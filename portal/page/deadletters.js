import {ask} from './confirm.js';
import {arrange, button, element, isolated, pluralize} from './element.js';
import {notOperator} from './eventpage.js';
import {read, textView, write} from './json.js';
import {compactNumber} from './mapdata.js';
import {post} from './request.js';
import {eventHash} from './route.js';

const pageSize = 100; // of deadletters.json
const columns = [
  ['When', ({time}) => time],
  ['Subscriber', ({service}) => service],
  ['Event', ({event}) => event],
  ['Attempts', ({attempts}) => attempts],
  ['Reason', ({reason}) => reason],
];
const longestReason = 160; // characters of one that is not folded
const longestWait = 5; // answers of events.json without a reload

/**
 * The events that services could not handle, with what an operator may do about them: those of one service and event, or
 * the newest of several.
 */
export class DeadLetters {
  node = element('section', {'aria-label': 'Dead letters'});
  #of; // {publisher, event, service}; without a publisher those of all, then also without the others
  #caller;
  #title;
  #state = element('p', {className: 'quiet', role: 'status'});
  #buttons = element('div', {className: 'buttons', hidden: true});
  #all = element('input', {type: 'checkbox', 'aria-label': 'Select all shown', onchange: () => this.#selectAll()});
  #filter = element('input', {type: 'search', placeholder: 'Filter by reason or arguments', 'aria-label': 'Filter by reason or arguments'});
  #heads = new Map(); // by the title of a column
  #sorted = {title: 'When', descending: true};
  #table;
  #body = element('tbody');
  #more = button('Show more', () => this.#showMore(), {className: 'small', hidden: true});
  #rows = new Map(); // by publisher and sequence
  #count = null; // as events.json says
  #wanted = pageSize; // number of rows to show
  #waited = 0;
  #loading = null; // the running request
  #said = ''; // the outcome of the last action

  /** @param {HTMLElement} title of the list, which can have the focus */
  constructor(of, caller, title = element('h3', {tabIndex: -1}, 'Dead letters')) {
    this.#of = of;
    this.#caller = caller;
    this.#title = title;
    const selected = (action) => () => this.#act(action, this.#selected);
    this.#buttons.append(
      button('Redeliver selected', selected('redeliver'), {className: 'plain'}),
      button('Delete selected', selected('delete'), {className: 'plain'}),
    );
    if (of.publisher) {
      this.#buttons.append(
        button('Redeliver all', () => this.#act('redeliver', null), {className: 'plain'}),
        button('Delete all', () => this.#act('delete', null), {className: 'plain'}),
      );
    }
    this.#table = element(
      'table',
      {className: 'event-table dead-letters', hidden: true},
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          element('th', {}, element('label', {}, this.#all, element('span', {}, ' Select all shown'))),
          ...columns.filter(([title]) => !this.#omits(title)).map(([title]) => this.#columnHead(title)),
          ...['Arguments', 'Action'].map((title) => element('th', {scope: 'col'}, title)),
        ),
      ),
      this.#body,
    );
    this.#filter.addEventListener('input', () => this.#arrange());
    this.node.append(this.#title, this.#state, this.#buttons, this.#filter, this.#table, this.#more);
    this.#body.addEventListener('change', () => this.#showSelection());
  }

  /** Lists those of another service and event; each may be "" for all. */
  narrow({service, event}) {
    this.#of = {service, event};
    this.forget();
  }

  /** Whether all rows have the same in a column. */
  #omits(title) {
    return Boolean(this.#of.publisher) && (title === 'Subscriber' || title === 'Event');
  }

  get #selected() {
    return [...this.#rows.values()].filter(({box}) => box.checked);
  }

  /**
   * Follows the figures.
   * @param {number|null} count of dead letters, null if that is not known
   * @param {boolean} operator whether the caller may read them
   */
  follow(count, operator) {
    if (!operator || count === null) {
      this.#clear();
      this.#say(operator ? 'None are known.' : `${count === null ? '' : `${pluralize(count, 'dead letter')}. `}${notOperator}`);
      return;
    }
    this.#waited++;
    if (count !== this.#count || (count > 0 && this.#waited > longestWait)) {
      this.#count = count;
      this.#load();
    }
  }

  /** Shows nothing but why. */
  fail(text) {
    this.#clear();
    this.#say(text);
  }

  /** Removes what was for another caller. */
  forget() {
    this.#said = '';
    this.fail('');
  }

  #clear() {
    this.#loading?.abort();
    this.#loading = this.#count = null;
    this.#show([], false);
  }

  async #load() {
    this.#loading?.abort();
    const loading = new AbortController();
    this.#loading = loading;
    this.#waited = 0;
    try {
      const {found, more} = await this.#fetchAll(loading.signal);
      if (this.#loading === loading) {
        this.#show(found, more);
        this.#say(
          found.length === 0
            ? 'None.'
            : more
              ? `The newest ${found.length}${this.#count > found.length ? ` of ${compactNumber(this.#count)}` : ''}.`
              : '',
        );
      }
    } catch (error) {
      if (this.#loading === loading) {
        this.#say(`They cannot be read: ${error.message}.`);
      }
    }
  }

  async #fetchAll(signal) {
    const found = [];
    for (;;) {
      const query = new URLSearchParams(found.length > 0 ? {...this.#of, below: found.at(-1).sequence} : this.#of);
      const response = await fetch(`deadletters.json?${query}`, {
        headers: {Accept: 'application/json', ...this.#caller.headers},
        credentials: 'omit',
        signal,
      });
      const answer = read(await response.text());
      if (!response.ok) {
        throw new Error(answer.detail || `the portal answers ${response.status}`);
      }
      found.push(...answer.deadLetters);
      const all = !answer.more || answer.deadLetters.length === 0 || found.length >= this.#wanted;
      if (all || !this.#of.publisher) {
        return {found, more: answer.more};
      }
    }
  }

  #showMore() {
    this.#wanted += pageSize;
    this.#load();
  }

  /** Shows dead letters; rows that are there stay as they are. */
  #show(found, more) {
    const focused = this.node.contains(document.activeElement);
    const letters = new Map(found.map((letter) => [`${letter.publisher} ${letter.sequence}`, letter]));
    for (const [key, {line}] of this.#rows) {
      if (!letters.has(key)) {
        line.remove();
        this.#rows.delete(key);
      }
    }
    for (const [key, letter] of letters) {
      if (!this.#rows.has(key)) {
        this.#rows.set(key, this.#newRow(letter));
      }
    }
    this.#table.hidden = this.#buttons.hidden = this.#filter.hidden = found.length === 0;
    this.#arrange();
    this.#more.hidden = !more || !this.#of.publisher;
    this.#showSelection();
    if (focused && !(this.node.contains(document.activeElement) && document.activeElement.checkVisibility())) {
      this.#title.focus({preventScroll: true}); // what had the focus is gone
    }
  }

  #columnHead(title) {
    const head = element(
      'th',
      {scope: 'col'},
      button(title, () => this.#sort(title), {className: 'sort'}),
    );
    this.#heads.set(title, head);
    return head;
  }

  #sort(title) {
    this.#sorted = {title, descending: this.#sorted.title === title ? !this.#sorted.descending : title === 'When'};
    this.#arrange();
  }

  /** Shows the rows that pass the filter, in the order of a column. */
  #arrange() {
    const {title, descending} = this.#sorted;
    for (const [of, head] of this.#heads) {
      head.setAttribute('aria-sort', of !== title ? 'none' : descending ? 'descending' : 'ascending');
    }
    const [, by] = columns.find(([of]) => of === title);
    const word = this.#filter.value.toLowerCase();
    const shown = [...this.#rows.values()].filter(({text, box}) => {
      const passes = text.includes(word);
      box.checked &&= passes; // what is not seen is not selected
      return passes;
    });
    shown.sort((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : a.time - b.time || a.sequence - b.sequence));
    arrange(
      this.#body,
      (descending ? shown.reverse() : shown).map(({line}) => line),
    );
    this.#showSelection();
  }

  #newRow(letter) {
    const {publisher, service, event, at, attempts, reason, msgId, body} = letter;
    const about = `of ${new Date(at).toLocaleString()}`;
    const box = element('input', {type: 'checkbox', 'aria-label': `Select the dead letter ${about}`});
    const details = element('details', {}, element('summary', {'aria-label': `Show arguments ${about}`}, 'Show'));
    details.addEventListener(
      'toggle',
      () =>
        details.append(
          element('p', {className: 'quiet'}, 'Message ', element('code', {}, isolated(msgId))),
          textView(typeof body === 'string' ? body : write(body ?? null), `Arguments ${about}`),
        ),
      {once: true},
    );
    const act = (text, action) =>
      button(text, () => this.#act(action, [letter]), {className: 'small', 'aria-label': `${text} the dead letter ${about}`});
    const cell = (label, ...inside) => element('td', {'data-label': label}, ...inside);
    const place = (title, ...inside) => !this.#omits(title) && element('td', {className: 'place', 'data-label': title}, ...inside);
    return {
      ...letter,
      time: Date.parse(at),
      text: `${reason} ${typeof body === 'string' ? body : write(body ?? null)}`.toLowerCase(),
      box,
      line: element(
        'tr',
        {},
        element('td', {}, box),
        cell('When', element('time', {dateTime: at}, new Date(at).toLocaleString())),
        place('Subscriber', element('a', {href: eventHash({publisher, name: event}, service)}, service)),
        place(
          'Event',
          element('a', {href: eventHash({publisher, name: event})}, event),
          element('span', {className: 'quiet'}, ` of ${publisher}`),
        ),
        cell('Attempts', String(attempts)),
        element('td', {className: 'reason', 'data-label': 'Reason'}, reasonView(reason)),
        cell('Arguments', details),
        cell('Action', element('div', {className: 'buttons'}, act('Redeliver', 'redeliver'), act('Delete', 'delete'))),
      ),
    };
  }

  #selectAll() {
    this.#rows.forEach(({box, line}) => {
      box.checked = this.#all.checked && line.isConnected;
    });
    this.#showSelection();
  }

  #showSelection() {
    const selected = this.#selected.length;
    this.#all.checked = selected > 0 && selected === this.#rows.size;
    this.#all.indeterminate = selected > 0 && selected < this.#rows.size;
    [...this.#buttons.children].slice(0, 2).forEach((one) => {
      one.disabled = selected === 0;
    });
  }

  /** Redelivers or deletes dead letters: these, null for all. */
  async #act(action, letters) {
    if (!(await this.#confirmed(action, letters))) {
      return;
    }
    const outcomes = [];
    try {
      for (const request of letters ? requestsFor(letters) : [{...this.#of, all: true}]) {
        const {status, text} = await post('deadletters', write({...request, action}), this.#caller);
        const answer = read(text);
        if (status >= 300) {
          outcomes.push({done: 0, failed: [], refused: `Not done: ${answer.detail || `the portal answers ${status}`}.`});
          break;
        }
        outcomes.push(answer);
      }
      this.#said = outcomeText(action, outcomes);
    } catch (error) {
      this.#said = `No answer: ${error.message}. It may have been done.`;
    }
    this.#load();
  }

  /** Asks whether to do it, with the number. */
  #confirmed(action, letters) {
    const count = letters ? letters.length : this.#more.hidden ? this.#rows.size : this.#count;
    const what = `${letters || count === 1 ? '' : 'all '}${pluralize(count, 'dead letter', compactNumber)}`;
    const services = [...new Set((letters || [this.#of]).map(({service}) => service))].sort();
    const [who, gets] =
      services.length === 1 ? [services[0], 'gets'] : [`${services.slice(0, -1).join(', ')} and ${services.at(-1)}`, 'get'];
    return action === 'delete'
      ? ask(
          `Delete ${what}?`,
          'Delete',
          element('p', {}, `${who} will never handle ${letters?.length === 1 ? 'this event' : 'these events'}.`),
        ).done
      : ask(`Redeliver ${what}?`, 'Redeliver', element('p', {}, `Only ${who} ${gets} them again, with a full number of attempts.`)).done;
  }

  #say(text) {
    const said = [this.#said, text].filter(Boolean).join(' ');
    if (this.#state.textContent !== said) {
      this.#state.textContent = said;
    }
  }
}

/** A reason; a long one is opened to be read in full. */
function reasonView(reason) {
  const folded = reason.length > longestReason || reason.split('\n').length > 3;
  return folded ? element('details', {}, element('summary', {}, isolated(reason))) : isolated(reason);
}

/** The requests for these dead letters: the portal takes those of one service and event at a time. */
function requestsFor(letters) {
  const groups = Map.groupBy(letters, ({publisher, event, service}) => `${publisher} ${event} ${service}`);
  return [...groups.values()].map((group) => {
    const [{publisher, event, service}] = group;
    return {publisher, event, service, sequences: group.map(({sequence}) => sequence)};
  });
}

function outcomeText(action, outcomes) {
  const done = outcomes.reduce((sum, one) => sum + one.done, 0);
  const failed = outcomes.flatMap((one) => one.failed || []);
  const {refused} = outcomes.at(-1);
  const said = refused && done === 0 ? '' : `${done} ${action === 'delete' ? 'deleted' : 'redelivered'}.`;
  const failures =
    failed.length > 0 &&
    `${pluralize(failed.length, 'failure')}: ${failed
      .slice(0, 5)
      .map(({sequence, error}) => `${sequence}: ${error}`)
      .join('; ')}`;
  return [said, failures, refused].filter(Boolean).join(' ');
}
