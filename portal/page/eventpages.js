import {EventPage} from './eventpage.js';
import {Poller} from './poller.js';
import {SubscriberPage} from './subscriberpage.js';

const mostPages = 40; // pages that keep what was typed

/** The pages on events. The one that is shown follows the figures of the portal. */
export class EventPages {
  #caller;
  #pages = new Map(); // by route, the latest last
  #shown = null;
  #live = null; // the latest figures
  #poller;

  constructor(caller) {
    this.#caller = caller;
    this.#poller = new Poller('events.json', caller, {
      watched: () => this.#shown?.node.isConnected,
      apply: (live) => this.#apply(live),
      miss: (_, detail) => this.#miss(`The figures cannot be read: ${detail}.`),
    });
    caller.onChange(() => {
      this.#live = null;
      for (const page of this.#pages.values()) {
        page.forget();
      }
      this.#poller.reset();
    });
  }

  /** Returns the page of an event, or of a subscriber of it. */
  of(event, subscriber) {
    const id = `${event.id} ${subscriber}`;
    let page = this.#pages.get(id);
    if (page) {
      page.update(event);
      this.#pages.delete(id);
    } else {
      page = subscriber ? new SubscriberPage(event, subscriber, this.#caller) : new EventPage(event, this.#caller);
    }
    this.#pages.set(id, page);
    if (this.#pages.size > mostPages) {
      this.#pages.delete(this.#pages.keys().next().value);
    }
    return page;
  }

  /** Follows the figures for a page that is in the document now. */
  follow(page) {
    if (this.#shown !== page) {
      this.#shown = page;
      if (this.#live) {
        page.apply(this.#live);
      }
    }
    this.#poller.wake();
  }

  #apply(live) {
    this.#live = live;
    this.#shown.node.classList.remove('stale');
    this.#shown.apply(live);
  }

  // What was seen stays, greyed out.
  #miss(unavailable) {
    this.#shown.node.classList.toggle('stale', this.#live !== null);
    if (!this.#live) {
      this.#shown.apply({taken: new Date().toISOString(), operator: false, reason: unavailable, unavailable, publishers: [], leftOut: []});
    }
  }
}
