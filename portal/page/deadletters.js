import {button, element, newID, pluralize} from './element.js';
import {notOperator} from './eventpage.js';
import {read, textView, write} from './json.js';
import {post} from './request.js';

const pageSize = 100; // of deadletters.json
const longestWait = 5; // answers of events.json without a reload

/** The events that a service could not handle, with what an operator may do about them. */
export class DeadLetters {
  node = element('section', {'aria-label': 'Dead letters'});
  #of; // {publisher, event, service}
  #caller;
  #title = element('h3', {tabIndex: -1}, 'Dead letters');
  #state = element('p', {className: 'quiet', role: 'status'});
  #buttons = element('div', {className: 'buttons', hidden: true});
  #all = element('input', {type: 'checkbox', 'aria-label': 'Select all shown', onchange: () => this.#selectAll()});
  #table;
  #body = element('tbody');
  #more = button('Show more', () => this.#showMore(), {className: 'small', hidden: true});
  #rows = new Map(); // by sequence
  #count = null; // as events.json says
  #wanted = pageSize; // number of rows to show
  #waited = 0;
  #loading = null; // the running request
  #said = ''; // the outcome of the last action

  constructor(of, caller) {
    this.#of = of;
    this.#caller = caller;
    const selected = (action) => () =>
      this.#act(
        action,
        [...this.#rows.values()].filter(({box}) => box.checked).map(({sequence}) => sequence),
      );
    this.#buttons.append(
      button('Redeliver selected', selected('redeliver'), {className: 'plain'}),
      button('Delete selected', selected('delete'), {className: 'plain'}),
      button('Redeliver all', () => this.#act('redeliver', null), {className: 'plain'}),
      button('Delete all', () => this.#act('delete', null), {className: 'plain'}),
    );
    this.#table = element(
      'table',
      {className: 'event-table dead-letters', hidden: true},
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          element('th', {}, this.#all),
          ...['When', 'Attempts', 'Reason', 'Arguments', 'Action'].map((title) => element('th', {scope: 'col'}, title)),
        ),
      ),
      this.#body,
    );
    this.node.append(this.#title, this.#state, this.#buttons, this.#table, this.#more);
    this.#body.addEventListener('change', () => this.#showSelection());
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

  /** Removes what was for another caller. */
  forget() {
    this.#said = '';
    this.#clear();
    this.#say('');
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
        this.#say(found.length === 0 ? 'None.' : '');
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
      const query = new URLSearchParams({...this.#of, after: found.at(-1)?.sequence ?? 0});
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
      if (!answer.more || answer.deadLetters.length === 0 || found.length >= this.#wanted) {
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
    const sequences = new Set(found.map(({sequence}) => sequence));
    for (const [sequence, {line}] of this.#rows) {
      if (!sequences.has(sequence)) {
        line.remove();
        this.#rows.delete(sequence);
      }
    }
    for (const letter of found) {
      if (!this.#rows.has(letter.sequence)) {
        const row = this.#newRow(letter);
        this.#rows.set(letter.sequence, row);
        this.#body.append(row.line);
      }
    }
    this.#table.hidden = this.#buttons.hidden = found.length === 0;
    this.#more.hidden = !more;
    this.#showSelection();
    if (focused && !(this.node.contains(document.activeElement) && document.activeElement.checkVisibility())) {
      this.#title.focus({preventScroll: true}); // what had the focus is gone
    }
  }

  #newRow({sequence, at, attempts, reason, msgId, body}) {
    const about = `of ${new Date(at).toLocaleString()}`;
    const box = element('input', {type: 'checkbox', 'aria-label': `Select the dead letter ${about}`});
    const details = element('details', {}, element('summary', {'aria-label': `Arguments ${about}`}, 'Show'));
    details.addEventListener(
      'toggle',
      () =>
        details.append(
          element('p', {className: 'quiet'}, 'Message ', element('code', {}, msgId)),
          textView(typeof body === 'string' ? body : write(body ?? null), `Arguments ${about}`),
        ),
      {once: true},
    );
    const act = (text, action) =>
      button(text, () => this.#act(action, [sequence]), {className: 'small', 'aria-label': `${text} the dead letter ${about}`});
    const cell = (label, ...inside) => element('td', {'data-label': label}, ...inside);
    return {
      sequence,
      box,
      line: element(
        'tr',
        {},
        element('td', {}, box),
        cell('When', element('time', {dateTime: at}, new Date(at).toLocaleString())),
        cell('Attempts', String(attempts)),
        element('td', {className: 'reason', 'data-label': 'Reason'}, reason),
        cell('Arguments', details),
        cell('Action', element('div', {className: 'buttons'}, act('Redeliver', 'redeliver'), act('Delete', 'delete'))),
      ),
    };
  }

  #selectAll() {
    this.#rows.forEach(({box}) => {
      box.checked = this.#all.checked;
    });
    this.#showSelection();
  }

  #showSelection() {
    const selected = [...this.#rows.values()].filter(({box}) => box.checked).length;
    this.#all.checked = selected > 0 && selected === this.#rows.size;
    this.#all.indeterminate = selected > 0 && selected < this.#rows.size;
    [...this.#buttons.children].slice(0, 2).forEach((one) => {
      one.disabled = selected === 0;
    });
  }

  /** Redelivers or deletes dead letters: those with the sequences, null for all. */
  async #act(action, sequences) {
    if (action === 'delete' && !(await this.#confirmed(sequences))) {
      return;
    }
    const {publisher, event, service} = this.#of;
    const which = sequences ? {sequences} : {all: true};
    try {
      const {status, text} = await post('deadletters', write({publisher, event, service, ...which, action}), this.#caller);
      const answer = read(text);
      this.#said = status < 300 ? outcome(action, answer) : `Not done: ${answer.detail || `the portal answers ${status}`}.`;
    } catch (error) {
      this.#said = `No answer: ${error.message}. It may have been done.`;
    }
    this.#load();
  }

  /** Asks whether to delete. */
  #confirmed(sequences) {
    const title = newID('delete');
    const what = sequences ? pluralize(sequences.length, 'dead letter') : 'all dead letters';
    const dialog = element(
      'dialog',
      {'aria-labelledby': title},
      element(
        'form',
        {method: 'dialog'},
        element('h2', {id: title}, `Delete ${what}?`),
        element('p', {}, `${this.#of.service} will never handle ${sequences?.length === 1 ? 'this event' : 'these events'}.`),
        element(
          'div',
          {className: 'buttons'},
          element('button', {value: 'delete'}, 'Delete'),
          button('Cancel', () => dialog.close(), {className: 'plain', autofocus: true}),
        ),
      ),
    );
    document.body.append(dialog);
    return new Promise((resolve) => {
      dialog.addEventListener('close', () => {
        resolve(dialog.returnValue === 'delete');
        dialog.remove();
      });
      dialog.showModal();
    });
  }

  #say(text) {
    const said = [this.#said, text].filter(Boolean).join(' ');
    if (this.#state.textContent !== said) {
      this.#state.textContent = said;
    }
  }
}

function outcome(action, {done, failed}) {
  const said = `${done} ${action === 'delete' ? 'deleted' : 'redelivered'}.`;
  return (failed || []).length === 0
    ? said
    : `${said} ${pluralize(failed.length, 'failure')}: ${failed
        .slice(0, 5)
        .map(({sequence, error}) => `${sequence}: ${error}`)
        .join('; ')}`;
}
