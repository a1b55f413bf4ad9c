import {DeadLetters} from './deadletters.js';
import {element} from './element.js';
import {cutOffView, subscriptionView} from './eventfigures.js';
import {crumbs, subscribersOf} from './eventpage.js';
import {eventHash} from './route.js';

/** The page of what a service does with an event: its backlog, and its dead letters. */
export class SubscriberPage {
  node = element('article', {className: 'operation event-page', 'aria-labelledby': 'operation-title'});
  aside = null;
  #event;
  #service;
  #figures = element('section', {'aria-label': 'Subscription'});
  #deadLetters;
  #live = null; // the latest figures

  constructor(event, service, caller) {
    this.#service = service;
    this.#deadLetters = new DeadLetters({publisher: event.publisher, event: event.name, service}, caller);
    const {publisher, name} = event;
    this.node.append(
      crumbs(event, service),
      element('h2', {id: 'operation-title', tabIndex: -1}, service),
      element('p', {}, 'subscribes to ', element('a', {href: eventHash(event)}, name), ` of ${publisher}`),
      this.#figures,
      this.#deadLetters.node,
    );
    this.update(event);
  }

  get title() {
    return `${this.#service}, ${this.#event.name}`;
  }

  /** Takes over a new description of the event. */
  update(event) {
    this.#event = event;
    this.#draw();
  }

  /** Shows figures: an answer of events.json. */
  apply(live) {
    this.#live = live;
    this.#draw();
    const found = this.#subscriber;
    this.#deadLetters.node.hidden = found?.durable === false;
    this.#deadLetters.follow(found?.figures?.deadLetters ?? null, live.operator);
  }

  /** Removes what was for another caller. */
  forget() {
    this.#live = null;
    this.#deadLetters.forget();
    this.#draw();
  }

  get #subscriber() {
    return subscribersOf(this.#event, this.#live).find(({service}) => service === this.#service);
  }

  #draw() {
    const views = this.#views().filter(Boolean);
    this.#figures.replaceChildren(element('h3', {}, 'Subscription'), ...views);
  }

  #views() {
    const found = this.#subscriber;
    const text = (said) => [element('p', {className: 'quiet'}, said)];
    if (found?.figures) {
      return [subscriptionView(found.figures, this.#live.taken), cutOffView(found.figures.cutOff)];
    }
    if (found && !found.durable) {
      return text(
        `Not durable: it gets an event at most once, while it runs. ${found.queue ? 'One of its instances gets it.' : 'Each of its instances gets it.'}`,
      );
    }
    if (!this.#live) {
      return text('Asking the bus …');
    }
    return [
      element(
        'p',
        {className: 'notice'},
        this.#live.unavailable ||
          (found ? 'Nothing is stored for it yet.' : `${this.#service} does not subscribe to this event, or you may not see it.`),
      ),
    ];
  }
}
