import {element, pluralize} from './element.js';
import {subscribersOf} from './eventpage.js';
import {compactNumber, rateText} from './mapdata.js';
import {eventHash} from './route.js';

// The flows of events on the map, from publishers to subscribers.

/**
 * Returns what readLive returned with flows of events, and the services that have only events. A flow is {key, from,
 * to, kind, rate, backlog, deadLetters, events}: the sums of its events, and each; its kind is "event". The rate is
 * undefined if nothing is stored, and null if it is not measured yet.
 * @param {Iterable<Object>} events as readEvents returns them
 * @param {Object|null} answer of events.json
 */
export function withFlows({nodes, edges, measured}, events, answer) {
  const known = new Map(nodes.map((node) => [node.name, {...node, does: new Set(), runs: true, backlog: 0, deadLetters: 0}]));
  const node = (name, does, runs) => {
    if (!known.has(name)) {
      known.set(name, {
        name,
        kind: 'events',
        does: new Set(),
        runs: false,
        instances: [],
        ports: [],
        figures: null,
        backlog: 0,
        deadLetters: 0,
      });
    }
    const found = known.get(name);
    found.does.add(does);
    found.runs ||= runs;
    return found;
  };
  const flows = new Map();
  for (const event of events) {
    node(event.publisher, 'publishes', event.publishers.includes(event.publisher));
    for (const {service, runs, figures} of subscribersOf(event, answer)) {
      const to = node(service, 'subscribes', runs);
      const key = `${event.publisher} ${service} events`;
      if (!flows.has(key)) {
        flows.set(key, {key, from: event.publisher, to: service, kind: 'event', rate: undefined, backlog: 0, deadLetters: 0, events: []});
      }
      const flow = flows.get(key);
      flow.events.push({event, figures});
      for (const sum of figures ? [flow, to] : []) {
        sum.backlog += figures.backlog;
        sum.deadLetters += figures.deadLetters;
      }
      flow.rate = figures ? sumOf(flow.rate, figures.rate) : flow.rate;
    }
  }
  return {nodes: [...known.values()], edges, flows: [...flows.values()], measured};
}

/** The sum of two rates, of which one may not be known; null for neither. */
function sumOf(a, b) {
  return a === undefined || a === null ? b : a + (b ?? 0);
}

/** What is not handled: ["12 events waiting", "3 dead letters"]; nothing of what is zero. */
export function troubleTexts({backlog, deadLetters}) {
  return [
    backlog > 0 && `${pluralize(backlog, 'event', compactNumber)} waiting`,
    deadLetters > 0 && pluralize(deadLetters, 'dead letter', compactNumber),
  ].filter(Boolean);
}

/** What a node is that has only events. */
export function aboutEvents({does, runs}) {
  return `${[...does].sort().join(' and ')}${runs ? '' : ', does not run'}`;
}

/** "1.2/s handled, 3 events waiting". */
export function flowText({rate, backlog = 0, deadLetters = 0}) {
  const handled = rate === undefined ? 'not stored' : rate === null ? 'not measured yet' : `${rateText(rate)} handled`;
  return [handled, ...troubleTexts({backlog, deadLetters})].join(', ');
}

/** A flow in figures, with links to its events. */
export function flowView({from, to, events, ...sums}) {
  return [
    element('p', {}, element('strong', {}, `${from} ⇢ ${to}`)),
    element('p', {}, `Events: ${flowText(sums)}`),
    element(
      'ul',
      {},
      ...events
        .slice(0, 30)
        .map(({event, figures}) =>
          element('li', {}, element('a', {href: eventHash(event, to)}, event.name), `: ${flowText(figures || {})}`),
        ),
    ),
  ];
}

/** The columns of the table of flows; see SortedTable. */
export const flowColumns = [
  {title: 'Publisher ⇢ subscriber', value: ({key}) => key, text: ({from, to}) => `${from} ⇢ ${to}`},
  {title: 'Events', number: true, value: ({events}) => events.length, text: ({events}) => String(events.length)},
  {
    title: 'Handled/s',
    number: true,
    first: true,
    value: ({rate}) => rate ?? -1,
    text: ({rate}) => (rate === null || rate === undefined ? '–' : rateText(rate)),
  },
  {title: 'Waiting', number: true, value: ({backlog}) => backlog, text: ({backlog}) => compactNumber(backlog)},
  {
    title: 'Dead letters',
    number: true,
    value: ({deadLetters}) => deadLetters,
    text: ({deadLetters}) => [compactNumber(deadLetters), deadLetters > 0 && 'failed'],
  },
];
