import {element} from './element.js';
import {compactNumber, durationText, rateText, readLive} from './mapdata.js';
import {MapGraph} from './mapgraph.js';
import {callsTable, servicesTable} from './maptable.js';

// The map of the services: which run, who calls whom, how often and how fast. It polls the portal every 2 seconds while
// it is visible, and not otherwise.


const period = 2000; // milliseconds between polls
const requestTimeout = 8000; // milliseconds to wait for a response
const many = 40; // number of nodes from which the tables come first

/** A view of the page: {node, title, show()}. */
export class MapView {
  title = 'Map';
  #headers;
  #state = element('p', {className: 'map-state quiet', role: 'status'});
  #notices = element('div');
  #filter = element('input', {type: 'search', placeholder: 'Filter services', autocomplete: 'off', spellcheck: false, oninput: () => this.#draw()});
  #figures = element('div', {className: 'map-figures'});
  #graph = new MapGraph((key, pin) => this.#choose(key, pin));
  #calls = callsTable((key, pin) => this.#choose(key, pin));
  #services = servicesTable((key, pin) => this.#choose(key, pin));
  #body;
  #live = null; // the latest response
  #shown = {nodes: [], edges: []}; // the part of it that passes the filter
  #pinned = '';
  #pointed = '';
  #lostSince = null;
  #asking = null; // the running request
  #timer = 0;

  /** @param {() => Object<string, string>} headers that identify the caller */
  constructor(headers) {
    this.#headers = headers;
    const again = element('button', {type: 'button', className: 'map-again', onclick: () => this.#rearrange()}, 'Rearrange');
    this.#body = element('div', {className: 'map-body', hidden: true}, this.#graph.node,
      element('div', {className: 'map-tables'}, this.#calls.node, this.#services.node));
    this.node = element('section', {className: 'map-view'},
      element('div', {className: 'map-head'}, element('h2', {}, 'Map'),
        element('label', {className: 'map-filter'}, element('span', {className: 'visually-hidden'}, 'Filter'), this.#filter), again, this.#state),
      this.#notices, this.#body, legend(), this.#figures);
    document.addEventListener('visibilitychange', () => this.#wake());
    this.#showState('Asking the bus …');
  }

  /** Polls as long as the node is part of the page. */
  show() {
    this.#wake();
  }

  /** Discards what was seen, because the caller has changed. */
  reset() {
    this.#asking?.abort();
    [this.#asking, this.#live, this.#lostSince, this.#pinned, this.#pointed] = [null, null, null, '', ''];
    this.#notices.replaceChildren();
    this.#draw();
    this.#showState('Asking the bus …');
    this.#wake();
  }

  get #watched() {
    return this.node.isConnected && document.visibilityState === 'visible';
  }

  #wake() {
    clearTimeout(this.#timer);
    if (this.#watched && !this.#asking) {
      this.#ask();
    }
  }

  async #ask() {
    const asking = new AbortController();
    this.#asking = asking;
    const late = setTimeout(() => asking.abort(), requestTimeout);
    try {
      const response = await fetch('live.json', {headers: {Accept: 'application/json', ...this.#headers()}, signal: asking.signal});
      const answer = await response.json().catch(() => ({}));
      if (this.#asking === asking) {
        response.ok && answer.services ? this.#apply(answer) : this.#miss(response.status, answer.detail);
      }
    } catch {
      if (this.#asking === asking) {
        this.#miss(0, asking.signal.aborted ? 'no answer in time' : 'the ingress cannot be reached');
      }
    }
    clearTimeout(late);
    if (this.#asking === asking) {
      this.#asking = null;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#wake(), period);
    }
  }

  #apply(answer) {
    this.#lostSince = null;
    this.#live = readLive(answer);
    this.#notices.replaceChildren(...answer.leftOut.map((line) => element('p', {className: 'notice'}, line)));
    this.#draw();
    if (answer.services.length === 0) {
      this.#showState('No service has an endpoint that you may see yet. Start one, or use another token.');
    } else if (this.#live.edges.length === 0) {
      this.#showState('No calls yet. They appear here as they are made.');
    } else if (this.#live.measured === 0) {
      this.#showState('Measuring …');
    } else {
      this.#showState(`Live: the last ${Math.round(this.#live.measured)} s`);
    }
  }

  // What was seen stays, greyed out, unless the token is refused and may not see it any more.
  #miss(status, detail = `the portal answers ${status}`) {
    if (status === 401 || status === 403) {
      this.#live = null;
      this.#notices.replaceChildren();
      this.#draw();
      this.#showState(`The token is refused: ${detail}`, true);
      return;
    }
    this.#lostSince ||= new Date();
    this.#body.classList.add('stale');
    this.#showState(`Lost since ${this.#lostSince.toLocaleTimeString()}, retrying: ${detail}`, true);
  }

  #showState(text, lost = false) {
    if (this.#state.textContent !== text) {
      this.#state.textContent = text;
    }
    this.#state.classList.toggle('lost', lost);
  }

  #draw() {
    const live = this.#live || {nodes: [], edges: []};
    const words = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.#shown = filtered(live, words);
    this.#body.hidden = live.nodes.length === 0;
    this.#figures.hidden = this.#body.hidden;
    this.#body.classList.remove('stale');
    this.#body.classList.toggle('many', this.#shown.nodes.length > many);
    this.#graph.show(this.#shown, words.join(' '));
    this.#body.classList.toggle('wide', this.#graph.wide);
    this.#calls.show(this.#shown.edges);
    this.#services.show(this.#shown.nodes.filter(({kind}) => kind === 'service'));
    this.#mark();
  }

  #rearrange() {
    this.#graph.rearrange();
    this.#draw();
  }

  #choose(key, pin) {
    if (pin) {
      this.#pinned = this.#pinned === key ? '' : key;
    }
    this.#pointed = key;
    this.#mark();
  }

  #mark() {
    const chosen = this.#pointed || this.#pinned;
    for (const each of [this.#graph, this.#calls, this.#services]) {
      each.mark(chosen, this.#pinned);
    }
    this.#figures.replaceChildren(...figuresOf(this.#shown, chosen));
  }
}

function filtered({nodes, edges}, words) {
  if (words.length === 0) {
    return {nodes, edges};
  }
  const matches = (name) => words.every((word) => name.toLowerCase().includes(word));
  const shown = edges.filter(({from, to}) => matches(from) || matches(to));
  const names = new Set(shown.flatMap(({from, to}) => [from, to]));
  return {nodes: nodes.filter(({name}) => matches(name) || names.has(name)), edges: shown};
}

function figuresOf({nodes, edges}, chosen) {
  const edge = edges.find(({key}) => key === chosen);
  const node = nodes.find(({name}) => name === chosen);
  if (edge) {
    return [element('p', {}, element('strong', {}, `${edge.from} → ${edge.to}`)), element('p', {}, sentence(edge.figures)),
      list(edge.operations.map((operation) => `${operation.name} ${operation.path}: ${sentence(operation)}`))];
  }
  if (node) {
    return [element('p', {}, element('strong', {}, node.name), node.ports.length > 0 ? ` on port ${node.ports.join(', ')}` : ''),
      node.figures ? element('p', {}, sentence(node.figures)) : '',
      list(node.instances.map(({id, version, started}) =>
        `${id}${version ? `, version ${version}` : ''}${started ? `, since ${new Date(started).toLocaleString()}` : ''}`))].filter(Boolean);
  }
  const services = nodes.filter(({kind}) => kind === 'service');
  const instances = services.reduce((sum, each) => sum + each.instances.length, 0);
  const sum = (name) => edges.reduce((total, {figures}) => total + figures.recent[name], 0);
  return [element('p', {}, element('strong', {}, `${count(services.length, 'service')}, ${count(instances, 'instance')}`)),
    element('p', {}, `${rateText(sum('rate'))} calls, ${rateText(sum('refusedRate'))} refused, ${rateText(sum('failedRate'))} failed`),
    element('p', {className: 'quiet'}, 'Point at a service or at a row for its figures; click to keep them here.')];
}

function count(number, noun) {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function sentence({calls, recent}) {
  const parts = [`${rateText(recent.rate)}`];
  if (recent.p50 !== undefined) {
    parts.push(`p50 ${durationText(recent.p50)}`, `p99 ${durationText(recent.p99)}`);
  }
  if (recent.refused > 0) {
    parts.push(`${compactNumber(recent.refused)} refused`);
  }
  if (recent.failed > 0) {
    parts.push(`${compactNumber(recent.failed)} failed`);
  }
  return parts.join(', ') + (calls === null ? '' : `; ${compactNumber(calls)} calls in all`);
}

function list(lines) {
  return element('ul', {}, ...lines.slice(0, 30).map((line) => element('li', {}, line)),
    lines.length > 30 ? element('li', {}, `and ${lines.length - 30} more`) : '');
}

function legend() {
  const item = (kind, text) => element('li', {className: `${kind} quiet`}, element('i'), text);
  return element('ul', {className: 'map-legend'}, item('busy', 'calls now, wider for more'), item('idle', 'has called before'),
    item('refused', 'some refused (4xx)'), item('failed', 'some failed (5xx)'), item('absent', 'nobody is there'));
}
