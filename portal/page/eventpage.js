import {copyButton} from './buttons.js';
import {element, redraw} from './element.js';
import {logView, rateOf} from './eventfigures.js';
import {compactNumber} from './mapdata.js';
import {Messages} from './messages.js';
import {exampleView} from './operation.js';
import {PublishForm} from './publishform.js';
import {eventHash, serviceHash} from './route.js';
import {example, isNothing, schemaView} from './schema.js';

/** Why the caller may not do what only operators may. */
export const notOperator = 'Only operators may do this; the option portal.WithOperators of the portal says who they are.';

/** The page of an event: what it is, who publishes and subscribes to it, and the form that publishes it. */
export class EventPage {
  node = element('article', {className: 'operation event-page', 'aria-labelledby': 'operation-title'});
  #event;
  #form;
  #log = element('section', {'aria-label': 'Log'});
  #subscribers = element('section', {'aria-label': 'Subscribers'});
  #messages;
  #live = null; // the latest figures

  constructor(event, caller) {
    this.#messages = new Messages(event, caller);
    this.#form = new PublishForm(event, caller);
    this.update(event);
  }

  get title() {
    return `${this.#event.name} of ${this.#event.publisher}`;
  }

  get aside() {
    return this.#form.node;
  }

  /** Takes over a new description of the event. */
  update(event) {
    if (event.fingerprint === this.#event?.fingerprint) {
      return;
    }
    this.#event = event;
    this.#form.update(event);
    this.#messages.update(event);
    redraw(
      this.node,
      ...[crumbs(event), ...aboutView(event), this.#log, this.#subscribers, this.#messages.node, payloadView(event)].filter(Boolean),
    );
    this.#draw();
  }

  /** Shows figures: an answer of events.json. */
  apply(live) {
    this.#live = live;
    this.#draw();
    const durable = subscribersOf(this.#event, live).filter(({figures}) => figures);
    this.#messages.apply(
      live.operator,
      durable.map(({service}) => service),
    );
  }

  /** Removes what was for another caller. */
  forget() {
    this.#live = null;
    this.#form.forget();
    this.#messages.forget();
    this.#draw();
  }

  #draw() {
    this.#log.replaceChildren(element('h3', {}, 'Log'), ...storedView(this.#event, this.#live));
    redraw(this.#subscribers, element('h3', {}, 'Subscribers'), subscribersView(this.#event, this.#live));
    this.#form.allow(this.#live?.operator === true, this.#live && !this.#live.operator ? this.#live.reason || notOperator : '');
  }
}

/** Where a page on an event is. */
export function crumbs(event, subscriber = '') {
  const link = () => new URL(eventHash(event, subscriber), document.baseURI).href;
  return element(
    'p',
    {className: 'crumbs'},
    element('a', {href: '#/', className: 'back'}, 'Services'),
    element('a', {href: serviceHash(event.publisher)}, event.publisher),
    subscriber && element('a', {href: eventHash(event)}, event.name),
    copyButton(link, 'Copy link to this page', 'Copy link'),
  );
}

function aboutView({publisher, name, signature, description, subject, key, publishers}) {
  return [
    element(
      'h2',
      {id: 'operation-title', tabIndex: -1},
      element('span', {className: 'method event'}, 'EVENT'),
      ' ',
      element('span', {className: 'path'}, name),
    ),
    signature && element('p', {className: 'signature'}, element('code', {}, signature)),
    description && element('p', {className: 'description'}, description),
    element(
      'dl',
      {className: 'event-facts'},
      element('dt', {}, 'Publisher'),
      element('dd', {}, element('a', {href: serviceHash(publisher)}, publisher), runningText(publisher, publishers)),
      element('dt', {}, 'Key'),
      element('dd', {}, key ? element('code', {}, key) : 'none', key && ': events with equal keys are in order'),
      element('dt', {}, 'Subject on NATS'),
      element('dd', {}, subject ? element('code', {}, subject) : 'not known'),
    ),
  ];
}

/** Whether the publisher runs, and which other hosts publish its event. */
function runningText(publisher, publishers) {
  const others = publishers.filter((one) => one !== publisher);
  return [
    !publishers.includes(publisher) && ', which does not run or does not show it to you',
    others.length > 0 && `, through ${others.join(', ')}`,
  ]
    .filter(Boolean)
    .join('');
}

function payloadView({type, payload, signature, example: sample}) {
  const title = element('h3', {}, 'Arguments');
  if (!payload || isNothing(payload)) {
    return element(
      'section',
      {'aria-label': 'Arguments'},
      title,
      element('p', {className: 'quiet'}, payload ? 'None.' : 'They are not described.'),
    );
  }
  return element(
    'section',
    {'aria-label': 'Arguments'},
    title,
    element('p', {className: 'quiet'}, `In the body, ${type}:`),
    schemaView(payload, signature),
    exampleView('Example of an event', () => sample ?? example(payload, signature)),
  );
}

function storedView({publisher, name, durable}, live) {
  const quiet = (text) => [element('p', {className: 'quiet'}, text)];
  if (!durable) {
    return quiet('Not stored: subscribers get it at most once, while they run.');
  }
  if (!live) {
    return quiet('Asking the bus …');
  }
  const of = live.publishers.find(({host}) => host === publisher);
  if (!of?.log) {
    const why = [live.unavailable, ...live.leftOut.filter((line) => line.startsWith(`The log of ${publisher} `))].filter(Boolean);
    return [element('p', {className: 'notice'}, why.join(' ') || 'There is no log yet.')];
  }
  const {stored = 0, rate = null} = of.events.find(({event}) => event === name) || {};
  return [logView({log: of.log, stored, rate}, live.taken)];
}

/** The services that subscribe: those that run, and those for which events are stored. */
export function subscribersOf({publisher, name, subscribers}, live) {
  const stored = (live?.publishers.find(({host}) => host === publisher)?.subscriptions || []).filter(({event}) => event === name);
  const all = new Map(subscribers.map((one) => [one.service, {...one, runs: true, figures: null}]));
  for (const figures of stored) {
    all.set(figures.service, {service: figures.service, queue: '', runs: false, ...all.get(figures.service), durable: true, figures});
  }
  return [...all.values()].sort((a, b) => (a.service < b.service ? -1 : 1));
}

function subscribersView(event, live) {
  const all = subscribersOf(event, live);
  if (all.length === 0) {
    return element('p', {className: 'quiet'}, 'None that you may see.');
  }
  const number = (figures, show) => (figures ? show(figures) : '–');
  const columns = [
    ['Durable', ({durable}) => (durable ? 'yes' : 'no')],
    ['Backlog', ({figures}) => number(figures, ({backlog}) => compactNumber(backlog)), ({figures}) => figures?.backlog > 0 && 'refused'],
    [
      'Dead letters',
      ({figures}) => number(figures, ({deadLetters}) => compactNumber(deadLetters)),
      ({figures}) => figures?.deadLetters > 0 && 'failed',
    ],
    ['Handled', ({figures}) => number(figures, ({rate}) => rateOf(rate))],
  ];
  const rows = all.map((one) =>
    element(
      'tr',
      {},
      element(
        'th',
        {scope: 'row'},
        element('a', {href: eventHash(event, one.service)}, one.service),
        !one.runs && element('span', {className: 'quiet'}, ' does not run'),
      ),
      ...columns.map(([title, text, level]) => element('td', {'data-label': title, className: level?.(one) || ''}, text(one))),
    ),
  );
  return element(
    'table',
    {className: 'event-table'},
    element(
      'thead',
      {},
      element('tr', {}, ...['Service', ...columns.map(([title]) => title)].map((title) => element('th', {scope: 'col'}, title))),
    ),
    element('tbody', {}, ...rows),
  );
}
