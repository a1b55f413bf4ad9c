import {element, pluralize, redraw} from './element.js';
import {countedInstances, instancesText} from './instances.js';
import {compactNumber, durationText, rateText, readLive} from './mapdata.js';
import {flowView, withFlows} from './mapevents.js';
import {MapGraph, shapeView} from './mapgraph.js';
import {Departures, failingShare, healthOf} from './maphealth.js';
import {leftOutText, Selection} from './mapselection.js';
import {callsTable, flowsTable, servicesTable} from './maptable.js';
import {Poller} from './poller.js';
import {operationHash, serviceHash, viewHash} from './route.js';
import {foldedList} from './states.js';

// The map of the services: which run, who calls whom, how often and how fast, and where events go. It polls the portal
// every 2 seconds while it is visible, and not otherwise.

const many = 40; // number of nodes from which the tables scroll by themselves

/** A view of the page: {node, title, show()}. */
export class MapView {
  title = 'Map';
  #bus;
  #poller;
  #eventPoller;
  #state = element('p', {className: 'map-state quiet', role: 'status'});
  #notices = element('div');
  #noticed = ''; // what they say
  #filter = element('input', {
    type: 'search',
    placeholder: 'Filter services',
    autocomplete: 'off',
    spellcheck: false,
    oninput: () => this.#draw(),
  });
  #figures = element('div', {className: 'map-figures'});
  #graph = new MapGraph((key, pin) => this.#choose(key, pin));
  #calls = callsTable((key, pin) => this.#choose(key, pin));
  #flows = flowsTable((key, pin) => this.#choose(key, pin));
  #services = servicesTable((key, pin) => this.#choose(key, pin));
  #leftOut = element('p', {className: 'map-left-out quiet'});
  #selection = new Selection();
  #pane = element('div', {className: 'map-pane'}, this.#leftOut, this.#graph.node);
  #part = {words: '', selection: null}; // the same for a filtered picture
  #body;
  #live = null; // the latest response
  #events = null; // the latest of events.json
  #shown = {nodes: [], edges: [], flows: []}; // the part of it that passes the filter
  #departures = new Departures();
  #pinned = ''; // as the address says
  #pointed = '';
  #held = false; // whether a pointer is down in the figures
  #lostSince = null;

  constructor(caller, bus) {
    this.#bus = bus;
    const watched = () => this.node.isConnected;
    this.#poller = new Poller('live.json', caller, {
      watched,
      apply: (answer) => this.#apply(answer),
      miss: (status, detail) => this.#miss(status, detail),
    });
    this.#eventPoller = new Poller('events.json', caller, {
      watched,
      apply: (answer) => this.#applyEvents(answer),
      miss: () => {}, // the figures of calls are missed as well, which the map says
    });
    caller.onChange(() => this.#reset());
    this.#figures.addEventListener('pointerdown', () => {
      this.#held = true;
    });
    for (const ends of ['pointerup', 'pointercancel']) {
      addEventListener(ends, () => {
        this.#held = false;
      });
    }
    const again = element('button', {type: 'button', className: 'map-again', onclick: () => this.#rearrange()}, 'Rearrange');
    this.#body = element(
      'div',
      {className: 'map-body', hidden: true},
      this.#pane,
      element('div', {className: 'map-tables'}, this.#calls.node, this.#flows.node, this.#services.node),
    );
    this.node = element(
      'section',
      {className: 'map-view'},
      element(
        'div',
        {className: 'map-head'},
        element('h2', {}, 'Map'),
        element('label', {className: 'map-filter'}, element('span', {className: 'visually-hidden'}, 'Filter'), this.#filter),
        again,
        this.#state,
      ),
      element('div', {className: 'map-scrolled'}, this.#notices, this.#body, legend()),
      this.#figures,
    );
    this.#showState('Asking the bus …');
  }

  /** Shows what the route names, a service or a line, and polls as long as the node is part of the page. */
  show({parts = []}) {
    this.#pinned = parts.join(' ');
    this.#mark();
    this.#poller.wake();
    this.#eventPoller.wake();
  }

  /** Discards what was seen, because the caller has changed. */
  #reset() {
    [this.#live, this.#events, this.#lostSince, this.#pointed] = [null, null, null, ''];
    this.#departures.clear();
    this.#draw();
    this.#showState('Asking the bus …');
    this.#poller.reset();
    this.#eventPoller.reset();
  }

  #apply(answer) {
    this.#body.classList.remove('stale');
    this.#lostSince = null;
    this.#live = readLive(answer);
    this.#draw();
    if (this.#shown.nodes.length === 0 && !this.#filter.value) {
      this.#showState('No service has an endpoint that you may see yet. Start one, or use another token.');
    } else if (this.#live.edges.length === 0 && this.#shown.flows.length === 0) {
      this.#showState('No calls yet. They appear here as they are made.');
    } else if (this.#live.measured === 0) {
      this.#showState('Measuring …');
    } else {
      this.#showState(`Live: the last ${Math.round(this.#live.measured)} s`);
    }
  }

  #applyEvents(answer) {
    this.#events = answer;
    if (this.#live) {
      this.#draw();
    }
  }

  // What was seen stays, greyed out, unless the token is refused and may not see it any more.
  #miss(status, detail) {
    if (status === 401 || status === 403) {
      this.#live = this.#events = null;
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
    const live = this.#live ? this.#all() : {nodes: [], edges: [], flows: []};
    const words = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.#shown = filtered(live, words);
    this.#body.hidden = live.nodes.length === 0;
    this.#figures.hidden = this.#body.hidden;
    this.#body.classList.toggle('many', this.#shown.nodes.length > many);
    const {nodes, edges, flows} = this.#shown;
    this.#showNotices();
    this.#drawPicture(words);
    this.#pane.style.flexBasis = `${this.#graph.neededWidth}px`;
    this.#calls.show(edges);
    this.#flows.show(flows);
    this.#flows.node.hidden = flows.length === 0;
    this.#services.show(nodes.filter(({kind}) => kind === 'service'));
    this.#mark();
  }

  /** All that runs, with the instances that the rest of the page counts. */
  #all() {
    const {events, instances} = this.#bus.state;
    const all = withFlows(this.#live, events.values(), this.#events);
    const nodes = all.nodes.map((node) => ({...node, instances: countedInstances(node, instances)}));
    return {...all, nodes: this.#departures.with(nodes)};
  }

  #drawPicture(words) {
    const part = words.join(' ');
    if (part !== this.#part.words) {
      this.#part = {words: part, selection: new Selection()};
    }
    const drawn = (part ? this.#part.selection : this.#selection).of(this.#shown, (name) => words.length > 0 && matches(name, words));
    this.#graph.node.hidden = drawn.nodes.length === 0;
    this.#graph.show({nodes: drawn.nodes, edges: [...drawn.edges, ...drawn.flows]}, part);
    const text = leftOutText(this.#shown, drawn);
    if (this.#leftOut.textContent !== text) {
      this.#leftOut.textContent = text;
    }
    this.#leftOut.hidden = text === '';
    this.#body.classList.toggle('crowded', text !== '');
  }

  /** Says what is missing: of calls, and of events if some are stored. */
  #showNotices() {
    const stored = [...this.#bus.state.events.values()].some(({durable}) => durable);
    const lines = new Set([...(this.#live?.leftOut || []), ...(this.#events?.leftOut || []), stored && this.#events?.unavailable]);
    const texts = [...lines].filter(Boolean);
    if (texts.join('\n') !== this.#noticed) {
      this.#noticed = texts.join('\n');
      this.#notices.replaceChildren(...(texts.length > 0 ? [element('div', {className: 'notice'}, ...foldedList(texts))] : []));
    }
  }

  #rearrange() {
    this.#selection = new Selection();
    this.#part = {words: '', selection: null};
    this.#graph.rearrange();
    this.#draw();
  }

  #choose(key, pin) {
    this.#pointed = key;
    if (pin) {
      location.hash = this.#pinned === key ? viewHash('map') : viewHash('map', ...key.split(' ')); // and show follows
    }
    this.#mark();
  }

  #mark() {
    const chosen = this.#pointed || this.#pinned;
    for (const each of [this.#graph, this.#calls, this.#flows, this.#services]) {
      each.mark(chosen, this.#pinned);
    }
    if (this.#held) {
      return; // a link would be gone before it is clicked
    }
    const missing = !this.#pointed && this.#pinned !== '' && this.#filter.value === '' && this.#bus.state.complete;
    redraw(this.#figures, ...figuresOf(this.#shown, chosen, this.#bus.state, missing));
  }
}

function matches(name, words) {
  return words.every((word) => name.toLowerCase().includes(word));
}

function filtered({nodes, edges, flows}, words) {
  if (words.length === 0) {
    return {nodes, edges, flows};
  }
  const [calls, events] = [edges, flows].map((lines) => lines.filter(({from, to}) => matches(from, words) || matches(to, words)));
  const names = new Set([...calls, ...events].flatMap(({from, to}) => [from, to]));
  return {nodes: nodes.filter(({name}) => matches(name, words) || names.has(name)), edges: calls, flows: events};
}

function figuresOf({nodes, edges, flows}, chosen, state, missing) {
  const flow = flows.find(({key}) => key === chosen);
  if (flow) {
    return flowView(flow);
  }
  const edge = edges.find(({key}) => key === chosen);
  const node = nodes.find(({name}) => name === chosen);
  if (edge) {
    return [
      element('p', {}, element('strong', {}, serviceLink(edge.from, state), ' → ', serviceLink(edge.to, state))),
      element('p', {}, sentence(edge.figures)),
      list(edge.operations.map((operation) => [operationLink(edge.to, operation, state), `: ${sentence(operation)}`])),
    ];
  }
  if (node) {
    return [
      element(
        'p',
        {},
        element('strong', {}, serviceLink(node.name, state)),
        node.ports.length > 0 ? ` on port ${node.ports.join(', ')}` : '',
      ),
      healthOf(node).text && element('p', {className: 'failed'}, healthOf(node).text),
      node.figures ? element('p', {}, sentence(node.figures)) : '',
      list(
        node.instances.map(
          ({id, version, started, notReady}) =>
            `${id}${notReady ? ', not ready' : ''}${version ? `, version ${version}` : ''}${started ? `, since ${new Date(started).toLocaleString()}` : ''}`,
        ),
      ),
    ].filter(Boolean);
  }
  if (missing) {
    const [from, to] = chosen.split(' ');
    return [
      element(
        'p',
        {role: 'status'},
        ...(to
          ? ['Nothing goes from ', element('code', {}, from), ' to ', element('code', {}, to)]
          : [element('code', {}, from), ' is not on the bus']),
        ', or you may not see it.',
      ),
      element('p', {}, element('a', {href: '#/map'}, 'The whole map')),
    ];
  }
  const services = nodes.filter(({kind}) => kind === 'service');
  const others = nodes.filter(({kind}) => kind === 'events').length; // their instances are not known
  const sum = (name) => edges.reduce((total, {figures}) => total + figures.recent[name], 0);
  return [
    element(
      'p',
      {},
      element('strong', {}, `${pluralize(services.length, 'service')}, ${instancesText(services.flatMap(({instances}) => instances))}`),
      others > 0 && `; ${pluralize(others, 'more service')} with events only`,
    ),
    element('p', {}, `${rateText(sum('rate'))} calls, ${rateText(sum('refusedRate'))} refused, ${rateText(sum('failedRate'))} failed`),
    element('p', {className: 'quiet'}, 'Point at a service or at a row for its figures; click to keep them here.'),
  ];
}

/** A host, as a link to its page if it has one. */
function serviceLink(host, {services}) {
  return services.some((one) => one.host === host) ? element('a', {href: serviceHash(host)}, host) : host;
}

/** An operation of a line, as a link to its page if the document has it. */
function operationLink(host, {name, path, port}, {operations}) {
  const found = [...operations.values()].find((one) => one.host === host && one.path === path && one.port === String(port));
  const text = `${name} ${path}`;
  return found ? element('a', {href: operationHash(found)}, text) : text;
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
  return parts.join(', ') + (calls === null ? '' : `; ${pluralize(calls, 'call', compactNumber)} in all`);
}

function list(lines) {
  return element(
    'ul',
    {},
    ...lines.slice(0, 30).map((line) => element('li', {}, ...[line].flat())),
    lines.length > 30 ? element('li', {}, `and ${lines.length - 30} more`) : '',
  );
}

function legend() {
  const item = (kind, text) => element('li', {className: `${kind} quiet`}, element('i'), text);
  const shaped = (level, text) => element('li', {className: 'quiet'}, shapeView(level), text);
  return element(
    'ul',
    {className: 'map-legend'},
    item('busy', 'calls now, wider for more'),
    item('idle', 'has called before'),
    item('event', 'events'),
    item('refused', 'some refused (4xx)'),
    item('failed', 'some failed (5xx)'),
    item('absent', 'no instance is there'),
    shaped('failing', `failing: ${failingShare * 100} % of recent calls or more`),
    shaped('unready', 'not ready'),
    shaped('gone', 'gone'),
  );
}
