import {pluralize} from './element.js';
import {instancesText} from './instances.js';
import {rateText} from './mapdata.js';
import {aboutEvents, troubleTexts} from './mapevents.js';
import {healthOf, shapes} from './maphealth.js';
import {Layout} from './maplayout.js';
import {set, svg} from './svg.js';

// The picture of the map: nodes and edges in SVG. It is drawn once, and then updated in place.

const width = 190; // of a node
const height = 46;
const gapX = 90; // between columns
const gapY = 26;
const margin = 24;
const stagger = 36; // of every other column, so that lines pass between the nodes of the next one
const smallest = 0.8; // scale at which names are still readable

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
  #size = {width: 1, height: 1}; // of all, before it is scaled

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
    new ResizeObserver(() => this.#fit()).observe(this.node);
  }

  /** The width in pixels from which all of the picture can be seen. */
  get neededWidth() {
    return Math.ceil(this.#size.width * smallest) + 2; // with the border
  }

  /** Fits the picture into its pane. */
  #fit() {
    const {width: right, height: bottom} = this.#size;
    const scale = Math.max(smallest, Math.min(1, (this.node.clientWidth || right) / right));
    set(this.picture, {viewBox: `0 0 ${right} ${bottom}`, width: Math.floor(right * scale), height: Math.ceil(bottom * scale)});
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
    if (right !== this.#size.width || bottom !== this.#size.height) {
      this.#size = {width: right, height: bottom};
      this.#fit();
    }
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
    const clipped = svg('svg', {height: 24, class: 'map-name'}, title); // a long name is cut there
    const sub = svg('text', {x: 12, y: 36, class: 'map-sub'});
    const mark = svg('text', {x: width, y: height + 14, class: 'map-mark'});
    const shape = svg('path', {class: 'map-shape', transform: `translate(${width - 22} 6)`});
    const group = svg('g', {tabindex: 0, role: 'button'}, rect, clipped, ' ', sub, ' ', mark, shape);
    this.#listen(group, name);
    return {group, name: clipped, title, sub, mark, shape};
  }

  #drawNode({group, name, title, sub, mark, shape}, node, {x, y}) {
    const health = healthOf(node);
    set(group, {transform: `translate(${x} ${y})`});
    group.classList.add('map-node');
    group.classList.toggle('outside', node.kind === 'outside');
    group.classList.toggle('absent', health.level === 'gone');
    group.classList.toggle('failing', health.level === 'failing');
    group.classList.toggle('unready', health.level === 'unready');
    group.classList.toggle('failed', ['failed', 'failing'].includes(health.level) || node.deadLetters > 0);
    const troubles = [health.level !== 'gone' && health.text, ...troubleTexts(node)];
    const [about, trouble] = [health.level === 'gone' ? goneText(node, health) : aboutNode(node), troubles.filter(Boolean).join(', ')];
    set(shape, {d: shapes[health.level] || ''});
    write(mark, trouble);
    write(title, node.name);
    set(name, {width: width - (shapes[health.level] ? 30 : 14)});
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

/** A shape of a state, for the legend. */
export function shapeView(level) {
  return svg(
    'svg',
    {viewBox: '0 0 16 16', width: 14, height: 14, class: 'map-shape', 'aria-hidden': true},
    svg('path', {d: shapes[level]}),
  );
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

/** What a node was that is not there. */
function goneText(node, health) {
  return node.kind === 'events' ? aboutEvents(node) : health.text;
}

function aboutNode(node) {
  const {kind, instances, figures} = node;
  if (kind === 'events') {
    return aboutEvents(node);
  }
  if (kind === 'outside') {
    return ['caller', ...node.does].join(', ');
  }
  const versions = [...new Set(instances.map(({version}) => version).filter(Boolean))].sort();
  const version = versions.length > 0 ? `, ${versions.length === 1 ? `v${versions[0]}` : pluralize(versions.length, 'version')}` : '';
  const text = `${instancesText(instances)}${version.slice(0, 14)}`;
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
