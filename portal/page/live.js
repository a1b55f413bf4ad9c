import {arrange, button, element, isolated, newID, pluralize, printable} from './element.js';
import {read} from './json.js';
import {compactNumber, durationText} from './mapdata.js';
import {statusView} from './response.js';
import {viewHash} from './route.js';

const mostRows = 200;
const againAfter = 2000; // milliseconds, once a stream has ended
const typingPause = 300; // milliseconds

/**
 * The view of the calls of the bus as they end: {node, title, show(route)}. It follows them while it is seen. Its filter
 * is the query of its address.
 */
export class LiveView {
  node = element('section', {className: 'live'});
  title = 'Live';
  #caller;
  #changeToken;
  #stream = null; // the running request
  #timer = 0;
  #typed = 0;
  #paused = false;
  #hidden = 0; // calls that were not shown
  #calls = []; // the latest, the newest first: {call, row}
  #service = field('Service', 'search');
  #from = field('Caller', 'search');
  #text = field('Text', 'search');
  #status = element(
    'select',
    {id: newID('live')},
    element('option', {value: ''}, 'all'),
    ...['2xx', '3xx', '4xx', '5xx'].map((text) => element('option', {value: text}, text)),
  );
  #pause = button('Pause', () => this.#toggle(), {className: 'plain', 'aria-pressed': 'false'});
  #state = element('p', {className: 'quiet', role: 'status'});
  #count = element('p', {className: 'quiet'});
  #notes = element('ul', {className: 'missing'});
  #change;
  #body = element('tbody');

  /** @param {{changeToken: function()}} actions */
  constructor(caller, {changeToken}) {
    this.#caller = caller;
    this.#changeToken = changeToken;
    this.#change = button('Change the caller', () => this.#changeToken(), {className: 'plain', hidden: true});
    const form = element(
      'form',
      {className: 'message-filter', 'aria-label': 'Filter calls'},
      this.#service.node,
      this.#from.node,
      this.#text.node,
      element('div', {className: 'field'}, element('label', {htmlFor: this.#status.id}, 'Status'), this.#status),
      element(
        'div',
        {className: 'buttons'},
        this.#pause,
        button('Clear', () => this.#clear(), {className: 'plain'}),
      ),
    );
    form.addEventListener('submit', (event) => event.preventDefault());
    form.addEventListener('input', () => {
      clearTimeout(this.#typed);
      this.#typed = setTimeout(() => this.#filter(), typingPause);
    });
    this.node.append(
      element('h2', {id: 'operation-title', tabIndex: -1}, 'Live'),
      element(
        'p',
        {className: 'quiet'},
        'The calls of the bus as they end, the newest first. Instances report them while this page is seen, without bodies, headers and queries.',
      ),
      form,
      this.#state,
      this.#change,
      this.#notes,
      element(
        'table',
        {className: 'event-table live-table'},
        element(
          'thead',
          {},
          element('tr', {}, ...['Ended', 'From', 'To', 'Call', 'Status', 'Took'].map((title) => element('th', {scope: 'col'}, title))),
        ),
        this.#body,
      ),
      this.#count,
    );
    caller.onChange(() => {
      this.#clear();
      this.#restart();
    });
    document.addEventListener('visibilitychange', () => this.#restart());
  }

  show({query}) {
    const given = new URLSearchParams(query);
    if (String(this.#queryOf((name) => given.get(name) || '')) !== String(this.#query)) {
      for (const [name, input] of Object.entries(this.#inputs)) {
        input.value = given.get(name) || '';
      }
      this.#status.value ||= ''; // of a status that there is not
      this.#draw();
      this.#restart();
    } else if (!this.#stream) {
      this.#restart();
    }
  }

  /** Applies what was typed: to the calls that are there, to the address, and to the calls to come. */
  #filter() {
    const query = String(this.#query);
    history.replaceState(null, '', viewHash('live') + (query && `?${query}`));
    this.#hidden = 0;
    this.#draw();
    this.#restart();
  }

  /** Shows those of the calls that pass the filter. */
  #draw() {
    const query = this.#query;
    arrange(
      this.#body,
      this.#calls.filter(({call}) => passes(call, query)).map(({row}) => row),
    );
    this.#showCount();
  }

  #toggle() {
    this.#paused = !this.#paused;
    this.#pause.setAttribute('aria-pressed', String(this.#paused));
    this.#pause.textContent = this.#paused ? 'Go on' : 'Pause';
    this.#restart();
  }

  #clear() {
    this.#hidden = 0;
    this.#calls = [];
    this.#draw();
  }

  get #watched() {
    return this.node.isConnected && document.visibilityState === 'visible' && !this.#paused;
  }

  /** Follows anew, with the filter of now, if the view is seen. */
  #restart() {
    clearTimeout(this.#timer);
    this.#stream?.abort();
    this.#stream = null;
    this.#notes.replaceChildren();
    if (this.#watched) {
      this.#follow();
    } else if (this.#paused) {
      this.#state.textContent = 'Paused.';
    }
  }

  async #follow() {
    const stream = new AbortController();
    this.#stream = stream;
    this.#state.textContent = 'Asking all instances …';
    let why = 'The stream has ended';
    try {
      const response = await fetch(`calls?${this.#query}`, {headers: this.#caller.headers, credentials: 'omit', signal: stream.signal});
      if (!response.ok) {
        this.#refuse(response.status, read(await response.text()));
        return;
      }
      this.#change.hidden = true;
      await this.#readLines(response.body, stream);
    } catch (error) {
      why = error.name === 'NotSent' ? error.message : 'No answer';
    }
    if (this.#stream === stream) {
      this.#stream = null;
      this.#state.textContent = `${why}; it is tried again.`;
      this.#timer = setTimeout(() => this.#restart(), againAfter);
    }
  }

  #refuse(status, {detail}) {
    this.#state.textContent = `Not shown: ${detail || `the portal answers ${status}`}.`;
    this.#change.hidden = status !== 401 && status !== 403;
    if (status >= 500) {
      this.#timer = setTimeout(() => this.#restart(), againAfter);
    }
  }

  get #inputs() {
    return {service: this.#service, caller: this.#from, text: this.#text, status: this.#status};
  }

  get #query() {
    return this.#queryOf((name) => this.#inputs[name].value);
  }

  #queryOf(given) {
    const pairs = Object.keys(this.#inputs).map((name) => [name, given(name)]);
    return new URLSearchParams(pairs.filter(([, value]) => value));
  }

  async #readLines(body, stream) {
    let rest = '';
    for (const reader = body.pipeThrough(new TextDecoderStream()).getReader(); ; ) {
      const {done, value} = await reader.read();
      if (done) {
        return;
      }
      const lines = (rest + value).split('\n');
      rest = lines.pop();
      if (this.#stream !== stream || !this.#watched) {
        stream.abort();
        return;
      }
      for (const line of lines) {
        this.#add(read(line));
      }
    }
  }

  #add({calls, more, instances, notes = []}) {
    this.#hidden += more;
    this.#state.textContent =
      instances > 0
        ? `Following ${pluralize(instances, 'instance')}, those of the portal and the ingress included.`
        : 'Asking all instances …';
    const fresh = calls.map((call) => ({call, row: rowView(call)})).reverse();
    const all = [...fresh, ...this.#calls];
    this.#calls = all.slice(0, mostRows);
    const query = this.#query;
    this.#hidden += all.slice(mostRows).filter(({call}) => passes(call, query)).length;
    this.#draw();
    this.#notes.append(...notes.map((text) => element('li', {}, isolated(text))));
    while (this.#notes.childElementCount > 10) {
      this.#notes.firstChild.remove();
    }
    this.#showCount();
  }

  #showCount() {
    this.#count.textContent =
      this.#body.rows.length === 0
        ? this.#calls.length > 0
          ? 'No call yet that the filter shows.'
          : 'No call yet.'
        : this.#hidden > 0
          ? `${compactNumber(this.#hidden)} more not shown.`
          : '';
  }
}

/** Reports whether the portal would send a call for a query. */
function passes({from, to, method, path, status, traceId = ''}, query) {
  const [service, caller, kind, text] = ['service', 'caller', 'status', 'text'].map((name) => query.get(name) || '');
  return (
    to.includes(service) &&
    from.includes(caller) &&
    (kind === '' || kind === `${Math.floor(status / 100)}xx`) &&
    [from, to, method, path, traceId].join(' ').toLowerCase().includes(text.toLowerCase())
  );
}

function rowView({ended, from, to, port, method, path, status, took, traceId}) {
  const cell = (label, ...inside) => element('td', {'data-label': label}, ...inside);
  const call = [
    element('span', {className: `method ${method.toLowerCase()}`}, printable(method)),
    ' ',
    isolated((port === 443 ? '' : `:${port}`) + path),
  ];
  return element(
    'tr',
    {},
    cell('Ended', new Date(ended).toLocaleTimeString()),
    cell('From', isolated(from)),
    cell('To', isolated(to)),
    cell('Call', traceId ? element('a', {href: viewHash('trace', traceId)}, ...call) : element('span', {}, ...call)),
    cell('Status', statusView(status)),
    cell('Took', durationText(Number(took) / 1e9)),
  );
}

function field(title, type) {
  const input = element('input', {type, id: newID('live'), autocomplete: 'off', spellcheck: false});
  return {
    node: element('div', {className: 'field'}, element('label', {htmlFor: input.id}, title), input),
    get value() {
      return input.value.trim();
    },
    set value(text) {
      input.value = text;
    },
  };
}
