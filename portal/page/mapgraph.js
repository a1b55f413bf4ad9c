import {compactNumber, rateText} from './mapdata.js';
import {aboutEvents, troubleTexts} from './mapevents.js';
import {Layout} from './maplayout.js';

// The picture of the map: nodes and edges in SVG. It is drawn once, and then updated in place.

const namespace = 'http://www.w3.org/2000/svg';
const width = 190; // of a node
const longestName = 21; // characters that are inside a node in any font
const height = 46;
const gapX = 90; // between columns
const gapY = 26;
const margin = 24;
const stagger = 36; // of every other column, so that lines pass between the nodes of the next one
const smallest = 0.8; // scale at which names are still readable

/** Makes an SVG element, or changes one. */
function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (node.getAttribute(name) !== String(value)) {
      node.setAttribute(name, value);
    }
  }
  return node;
}

function svg(name, attributes = {}, ...children) {
  const node = set(document.createElementNS(namespace, name), attributes);
  node.append(...children);
  return node;
}

/** The largest number of columns that fit beside a table. */
const narrow = 3;

/** The picture. `choose(key)` is called with the name of a node, the key of an edge or "" that the user selects. */
export class MapGraph {
  #layout = new Layout();
  #partLayout = new Layout(); // for a filtered picture
  #part = '';
  #nodes = new Map();
  #edges = new Map();
  #edgeLayer = svg('g');
  #nodeLayer = svg('g');
  #choose;
  #shown = {nodes: [], edges: []};

  constructor(choose) {
    this.#choose = choose;
    this.picture = svg(
      'svg',
      {role: 'group', 'aria-label': 'Map of who calls whom and where events go; the tables have the same figures'},
      this.#edgeLayer,
      this.#nodeLayer,
    );
    this.node = document.createElement('div');
    this.node.className = 'map-picture';
    this.node.append(this.picture);
  }

  /** Whether the picture is too wide to be beside anything. */
  get wide() {
    return Math.max(0, ...(this.#part ? this.#partLayout : this.#layout).columns) >= narrow;
  }

  /** Arranges all nodes anew. */
  rearrange() {
    this.#layout.clear();
    this.#partLayout.clear();
    this.show(this.#shown, this.#part);
  }

  /**
   * Shows these nodes and edges, as readLive returns them: all of them, or a part, which has a name and its own layout.
   */
  show(shown, part = '') {
    const room = this.node.clientWidth; // read first: later the browser would have to lay out all
    this.#shown = shown;
    if (part !== this.#part) {
      this.#part = part;
      this.#partLayout.clear();
    }
    const places = (part ? this.#partLayout : this.#layout).place(
      shown.nodes.map(({name}) => name),
      shown.edges,
    );
    const at = new Map(
      [...places].map(([name, {column, row}]) => [
        name,
        {x: margin + column * (width + gapX), y: margin + row * (height + gapY) + (column % 2) * stagger},
      ]),
    );
    keep(
      this.#nodes,
      shown.nodes,
      ({name}) => name,
      (node) => this.#newNode(node),
      this.#nodeLayer,
    );
    keep(
      this.#edges,
      shown.edges,
      ({key}) => key,
      (edge) => this.#newEdge(edge),
      this.#edgeLayer,
    );
    for (const node of shown.nodes) {
      this.#drawNode(this.#nodes.get(node.name), node, at.get(node.name));
    }
    for (const edge of shown.edges) {
      drawEdge(this.#edges.get(edge.key), edge, at);
    }
    const right = Math.max(0, ...[...at.values()].map(({x}) => x)) + width + margin + 20;
    const bottom = Math.max(0, ...[...at.values()].map(({y}) => y)) + height + margin;
    const scale = Math.max(smallest, Math.min(1, (room || right) / right));
    set(this.picture, {viewBox: `0 0 ${right} ${bottom}`, width: Math.floor(right * scale), height: Math.ceil(bottom * scale)});
  }

  /**
   * Highlights a node with all its edges, or an edge with its ends; "" for nothing. The pinned node is a pressed
   * button.
   */
  mark(chosen, pinned) {
    const related = new Set([chosen]);
    for (const {key, from, to} of this.#shown.edges) {
      if (key === chosen || from === chosen || to === chosen) {
        related.add(key).add(from).add(to);
      }
    }
    const there = this.#nodes.has(chosen) || this.#edges.has(chosen);
    for (const [key, {group}] of [...this.#nodes, ...this.#edges]) {
      group.classList.toggle('chosen', key === chosen);
      group.classList.toggle('faded', there && !related.has(key));
    }
    for (const [name, {group}] of this.#nodes) {
      set(group, {'aria-pressed': name === pinned});
    }
  }

  #newNode({name}) {
    const rect = svg('rect', {width, height, rx: 8});
    const title = svg('text', {x: 12, y: 19});
    const sub = svg('text', {x: 12, y: 36, class: 'map-sub'});
    const mark = svg('text', {x: width, y: height + 14, class: 'map-mark'});
    const group = svg('g', {tabindex: 0, role: 'button'}, rect, title, sub, mark);
    this.#listen(group, name);
    return {group, title, sub, mark};
  }

  #drawNode({group, title, sub, mark}, node, {x, y}) {
    set(group, {transform: `translate(${x} ${y})`});
    group.classList.add('map-node');
    group.classList.toggle('outside', node.kind === 'outside');
    group.classList.toggle(
      'absent',
      node.kind === 'absent' || (node.kind === 'service' && node.instances.length === 0) || (node.kind === 'events' && !node.runs),
    );
    const failed = node.figures?.recent.failed ?? 0;
    group.classList.toggle('failed', failed > 0 || node.deadLetters > 0);
    const troubles = [failed > 0 && `${compactNumber(failed)} failed`, ...troubleTexts(node)];
    const [about, trouble] = [aboutNode(node), troubles.filter(Boolean).join(', ')];
    write(mark, trouble);
    write(title, node.name.length > longestName ? `${node.name.slice(0, longestName - 1)}…` : node.name);
    write(sub, about);
    set(group, {'aria-label': `${node.name}: ${[about, trouble].filter(Boolean).join(', ')}`});
  }

  #newEdge({key}) {
    const line = svg('path', {class: 'line'});
    const head = svg('path', {class: 'head'});
    const reach = svg('path', {class: 'reach'});
    const group = svg('g', {'aria-hidden': true}, line, head, reach);
    this.#listen(group, key);
    return {group, line, head, reach};
  }

  #listen(group, key) {
    group.addEventListener('pointerenter', () => this.#choose(key, false));
    group.addEventListener('pointerleave', () => this.#choose('', false));
    group.addEventListener('focus', () => this.#choose(key, false));
    group.addEventListener('blur', () => this.#choose('', false));
    group.addEventListener('click', () => this.#choose(key, true));
    group.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault(); // a blank would scroll
        this.#choose(key, true);
      }
    });
  }
}

// keep makes missing elements and removes those that are not wanted any more.
function keep(known, wanted, keyOf, make, layer) {
  const keys = new Set(wanted.map(keyOf));
  for (const [key, {group}] of known) {
    if (!keys.has(key)) {
      group.remove();
      known.delete(key);
    }
  }
  for (const each of wanted) {
    if (!known.has(keyOf(each))) {
      const drawn = make(each);
      known.set(keyOf(each), drawn);
      layer.append(drawn.group);
    }
  }
}

function aboutNode(node) {
  const {kind, instances, figures} = node;
  if (kind === 'events') {
    return aboutEvents(node);
  }
  if (kind === 'absent' || (kind === 'service' && instances.length === 0)) {
    return 'nobody serves it';
  }
  if (kind === 'outside') {
    return ['caller', ...node.does].join(', ');
  }
  const versions = [...new Set(instances.map(({version}) => version).filter(Boolean))].sort();
  const version = versions.length > 0 ? `, ${versions.length === 1 ? `v${versions[0]}` : `${versions.length} versions`}` : '';
  const count = `${instances.length} instance${instances.length === 1 ? '' : 's'}`;
  const text = `${count}${version.slice(0, 14)}`;
  return figures?.recent.calls > 0 ? `${text} · ${rateText(figures.recent.rate)}` : text;
}

// drawEdge draws from the right side of the caller to the left side of the callee, or around the nodes if the callee is
// not to the right.
function drawEdge({group, line, head, reach}, edge, at) {
  const [from, to] = [at.get(edge.from), at.get(edge.to)];
  const rate = edge.kind === 'event' ? (edge.rate ?? 0) : edge.figures.recent.rate;
  const thick = edge.kind === 'idle' ? 1.25 : Math.min(8, 1.5 + 1.6 * Math.log10(1 + 10 * rate));
  const shift = edge.kind === 'event' ? 12 : 0; // beside calls between the same
  const path = edge.from === edge.to ? loop(from) : curve(from, to, shift);
  set(line, {d: path.d, 'stroke-width': thick.toFixed(2)});
  set(reach, {d: path.d});
  set(head, {d: 'M 0 0 L -9 -5 L -9 5 Z', transform: `translate(${path.x} ${path.y}) rotate(${path.angle})`});
  for (const kind of ['busy', 'idle', 'refused', 'failed', 'absent', 'event']) {
    group.classList.toggle(kind, edge.kind === kind || (kind === 'failed' && edge.deadLetters > 0));
  }
  group.classList.add('map-edge');
}

function curve(from, to, shift) {
  const y1 = from.y + height / 2 + shift;
  const y2 = to.y + height / 2 + shift;
  if (to.x > from.x) {
    const [x1, x2] = [from.x + width, to.x - 1];
    const bend = Math.max(40, (x2 - x1) / 2);
    return {d: `M ${x1} ${y1} C ${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 8} ${y2}`, x: x2, y: y2, angle: 0};
  }
  if (to.x === from.x) {
    const x = from.x + width;
    return {d: `M ${x} ${y1} C ${x + 46} ${y1} ${x + 46} ${y2} ${x + 9} ${y2}`, x: x + 1, y: y2, angle: 180};
  }
  const [x1, x2] = [from.x, to.x + width + 1];
  const bend = Math.max(40, (x1 - x2) / 2);
  return {d: `M ${x1} ${y1 + 8} C ${x1 - bend} ${y1 + 8} ${x2 + bend} ${y2 + 8} ${x2 + 8} ${y2 + 8}`, x: x2, y: y2 + 8, angle: 180};
}

function loop({x, y}) {
  const right = x + width;
  return {
    d: `M ${right} ${y + 12} C ${right + 30} ${y} ${right + 30} ${y + height} ${right + 9} ${y + height - 12}`,
    x: right + 1,
    y: y + height - 12,
    angle: 180,
  };
}

function write(node, text) {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}
