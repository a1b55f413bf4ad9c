import {copyButton} from './buttons.js';
import {button, element, isolated, pluralize, printable} from './element.js';
import {read} from './json.js';
import {durationText} from './mapdata.js';
import {viewHash} from './route.js';
import {readTrace} from './tracedata.js';
import {traceIdOf} from './traceids.js';
import {methodText, ownText, Waterfall} from './tracerows.js';

const mostRoots = 20; // at a time
const mostPeers = 20;
const requestTimeout = 30_000; // milliseconds

/** The view of a trace, as a waterfall of its calls: {node, title, show(route)}. */
export class TraceView {
  node = element('section', {className: 'trace'});
  title = 'Trace';
  #caller;
  #bus;
  #changeToken;
  #id = '';
  #asking = null; // the running request
  #template = null; // of the address of a trace in another program
  #input = element('input', {type: 'text', id: 'trace-id', autocomplete: 'off', spellcheck: false, placeholder: 'Trace id'});
  #links = element('p', {className: 'buttons'});
  #state = element('p', {role: 'status'});
  #shown = element('div', {className: 'trace-shown'});

  /** @param {{changeToken: function()}} actions */
  constructor(caller, bus, {changeToken}) {
    this.#caller = caller;
    this.#bus = bus;
    this.#changeToken = changeToken;
    const form = element(
      'form',
      {className: 'buttons', 'aria-label': 'Open a trace'},
      element('label', {htmlFor: 'trace-id', className: 'visually-hidden'}, 'Trace id'),
      this.#input,
      element('button', {type: 'submit'}, 'Show'),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.node.append(
      element('h2', {id: 'operation-title', tabIndex: -1}, 'Trace'),
      element(
        'p',
        {className: 'quiet'},
        'What the instances that use trace.Record remember of a trace: the latest calls, and longer those that have failed or were slow.',
      ),
      form,
      this.#links,
      this.#state,
      this.#shown,
    );
    caller.onChange(() => this.node.isConnected && this.#ask());
  }

  show({parts}) {
    const id = traceIdOf(parts[0] || '');
    this.#input.value = parts[0] || '';
    if (id !== this.#id || !id) {
      this.#id = id;
      this.#ask();
    }
  }

  #submit() {
    const id = traceIdOf(this.#input.value);
    const hash = viewHash('trace', id || this.#input.value);
    if (hash === location.hash) {
      this.#ask();
    } else {
      location.hash = hash;
    }
  }

  async #ask() {
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    this.#shown.replaceChildren();
    this.#showLinks();
    if (!this.#id) {
      this.#say(
        `${this.#input.value ? 'That is no trace id: it' : 'A trace id'} has 32 hexadecimal digits, as in 4bf92f3577b34da6a3ce929d0e0e4736.`,
      );
      return;
    }
    this.#say('Asking all instances …');
    const late = setTimeout(() => asking.abort(), requestTimeout);
    try {
      const found = await this.#fetch(`trace.json?id=${this.#id}`, asking.signal);
      if (this.#asking === asking) {
        this.#show(found);
      }
    } catch (error) {
      if (this.#asking === asking) {
        this.#fail(error.name === 'AbortError' ? new Error('no answer in time') : error);
      }
    } finally {
      clearTimeout(late);
    }
  }

  async #fetch(address, signal) {
    const response = await fetch(address, {
      headers: {Accept: 'application/json', ...this.#caller.headers},
      credentials: 'omit',
      signal,
    });
    const answer = read(await response.text());
    if (!response.ok) {
      throw Object.assign(new Error(answer.detail || `the portal answers ${response.status}`), {status: response.status});
    }
    return answer;
  }

  #say(text) {
    this.#state.textContent = text;
  }

  #fail({message, status}) {
    this.#say('');
    this.#shown.replaceChildren(element('p', {className: 'notice', role: 'alert'}, `Not shown: ${message}.`));
    if (status === 401 || status === 403) {
      this.#shown.append(button('Change the caller', this.#changeToken, {className: 'plain'}));
    }
  }

  /** The links to the same trace elsewhere. */
  async #showLinks() {
    const id = this.#id;
    this.#links.hidden = !id;
    if (!id) {
      return;
    }
    this.#links.replaceChildren(
      button('Ask again', () => this.#ask(), {className: 'small'}),
      copyButton(() => new URL(viewHash('trace', id), document.baseURI).href, 'Copy link to this trace', 'Copy link'),
    );
    this.#template ??= (await this.#fetch('tracelink.json').catch(() => ({}))).template;
    if (this.#template && this.#id === id && !this.#links.querySelector('a')) {
      const href = this.#template.replaceAll('{traceId}', id);
      this.#links.append(element('a', {href, rel: 'noreferrer'}, `Open at ${new URL(href).host}`));
    }
  }

  #show(found) {
    const roots = readTrace(found);
    const calls = roots.reduce((sum, root) => sum + 1 + root.calls, 0);
    const unknown = roots.length > 1 ? `, ${roots.length} of them without a known cause` : '';
    this.#say(`${pluralize(calls, 'call')}${unknown}${roots.length === 1 ? timeText(roots[0]) : ''}.`);
    const trees = element('div', {className: 'trace-trees'});
    this.#shown.replaceChildren(trees, legendView(), ...missingView(found));
    this.#addRoots(trees, roots);
  }

  #addRoots(trees, roots) {
    for (const root of roots.slice(0, mostRoots)) {
      const name = `Began ${new Date(root.began).toLocaleString()}, ${pluralize(root.calls + 1, 'call')}`;
      trees.append(new Waterfall(root, name, this.#bus).node);
    }
    const rest = roots.slice(mostRoots);
    if (rest.length > 0) {
      const more = button(`Show more: ${rest.length} that began elsewhere are not shown`, () => {
        more.remove();
        this.#addRoots(trees, rest);
      });
      more.className = 'small';
      trees.append(more);
    }
  }
}

function timeText({span, slowest}) {
  const most = slowest ? `, most of it at ${printable(slowest.call.to)} ${methodText(slowest.call)}: ${ownText(slowest)}` : '';
  return `, ${durationText(span / 1000)}${most}`;
}

function legendView() {
  return element(
    'p',
    {className: 'quiet'},
    'A bar’s outline is the time of the caller, its filling that of the callee. A time budget is what the call had when it began, and what was left at its end.',
  );
}

/** What the trace does not have. */
function missingView({instances, without, failed = [], leftOut}) {
  const texts = [
    without > 0 &&
      `${without} of ${pluralize(instances, 'instance')} that have answered ${without === 1 ? 'does' : 'do'} not use trace.Record.`,
    leftOut > 0 && `${pluralize(leftOut, 'call')} left out, beyond the limits.`,
    ...failed.slice(0, mostPeers).map(({host, id, why}) => `${id}.${host} has not answered with its calls: ${why}`),
    failed.length > mostPeers && `${failed.length - mostPeers} more have not answered.`,
  ].filter(Boolean);
  return texts.length > 0
    ? [
        element(
          'section',
          {'aria-label': 'What is missing'},
          element('h3', {}, 'What is missing'),
          element('ul', {className: 'missing'}, ...texts.map((text) => element('li', {}, isolated(text)))),
        ),
      ]
    : [];
}
