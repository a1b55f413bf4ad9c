import {readServices} from './document.js';
import {readEvents, withEvents} from './eventdocument.js';
import {read} from './json.js';

const interval = 4000; // milliseconds between polls, while the page is visible
const longestInterval = 15_000; // after failed polls
const requestTimeout = 12_000; // for one response; the portal takes less, even if it waits for services

/**
 * The bus as one caller sees it. It polls while the page is visible, and passes what it finds to all listeners: {phase,
 * services, operations, events, server, instances, plane, leftOut, error, seen, change}.
 *
 * phase is "loading" until the first poll has ended, then "ready", "failed", or "refused" if the token is refused; a
 * error beside "ready" means that what is shown is as old as seen says.
 */
export class Bus {
  #caller;
  #listeners = [];
  #text = ''; // of the latest poll
  #looks = 0; // number of polls begun; one that is not the latest may be for another token
  #failures = 0;
  #timer = 0;
  #awake = false;
  state;

  constructor(caller) {
    this.#caller = caller;
    this.#reset();
    caller.onChange(() => {
      this.#reset();
      this.#notify();
      this.poll();
    });
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') {
        this.poll();
      }
    });
  }

  onChange(listener) {
    this.#listeners.push(listener);
  }

  /** Starts or pauses polling: nothing is fetched while the page is hidden. */
  wake(awake = true) {
    const looks = awake && !this.#awake;
    this.#awake = awake;
    if (looks) {
      this.poll();
    }
  }

  /** Polls now, and tells listeners what has changed. */
  async poll() {
    if (!this.#awake) {
      return;
    }
    const mine = ++this.#looks;
    clearTimeout(this.#timer);
    let found;
    try {
      found = await this.#fetchAll();
    } catch (error) {
      found = {error};
    }
    if (mine !== this.#looks) {
      return;
    }
    this.#failures = found.error ? this.#failures + 1 : 0;
    this.#apply(found);
    const wait = Math.min(interval * Math.max(1, this.#failures), longestInterval);
    this.#timer = setTimeout(() => document.visibilityState === 'visible' && this.poll(), wait);
  }

  #reset() {
    this.#text = '';
    this.#failures = 0;
    this.state = {
      phase: 'loading', services: [], operations: new Map(), events: new Map(), server: '', instances: {}, plane: 'bus',
      leftOut: [], error: null, seen: null, change: null,
    };
  }

  #apply({text, description, eventDescription, list, error}) {
    const {phase} = this.state;
    if (error) {
      const lost = phase === 'ready' ? 'ready' : 'failed'; // what was seen stays
      this.state = {...this.state, phase: error.status === 401 && phase !== 'ready' ? 'refused' : lost, error, change: null};
    } else if (text === this.#text && phase === 'ready') {
      const quiet = !this.state.error && !this.state.change;
      this.state = {...this.state, error: null, seen: new Date(), change: null};
      if (quiet) {
        return; // nothing to report
      }
    } else {
      this.#read(description, eventDescription, list);
      this.#text = text;
    }
    this.#notify();
  }

  #read(description, eventDescription, list) {
    const events = readEvents(eventDescription);
    const services = withEvents(readServices(description), events);
    const operations = new Map(services.flatMap((service) => service.operations).map((one) => [one.id, one]));
    const change = this.state.phase === 'ready' ? difference(this.state.operations, operations) : null;
    this.state = {
      phase: 'ready', services, operations, events: new Map(events.map((event) => [event.id, event])), change, error: null, seen: new Date(),
      server: description.servers?.[0]?.url || '', instances: list.hosts || {}, plane: list.plane,
      leftOut: [...new Set([description, eventDescription].flatMap(({info}) => info?.['x-left-out'] || []))],
    };
  }

  #notify() {
    this.#listeners.forEach((listener) => listener(this.state));
  }

  async #fetchAll() {
    const texts = await Promise.all(['openapi.json', 'asyncapi.json', 'instances.json'].map((name) => this.#fetch(name)));
    const text = texts.join('\n');
    if (text === this.#text) {
      return {text};
    }
    return {text, description: read(texts[0]), eventDescription: read(texts[1]), list: JSON.parse(texts[2])};
  }

  async #fetch(name) {
    let response;
    let text;
    try {
      response = await fetch(name, {headers: {Accept: 'application/json', ...this.#caller.headers}, signal: AbortSignal.timeout(requestTimeout)});
      text = await response.text();
    } catch (error) {
      throw new PortalError(0, `the portal does not answer${error.name === 'TimeoutError' ? ' in time' : ''}`);
    }
    if (response.ok) {
      return text;
    }
    throw new PortalError(response.status, detailOf(text) || `the portal answers ${response.status}`);
  }
}

/** Why a poll has failed. The status is 0 if there was no response at all. */
class PortalError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

function detailOf(text) {
  try {
    return JSON.parse(text).detail;
  } catch {
    return '';
  }
}

/** The differences between two polls: ids of operations. */
function difference(before, after) {
  const change = {
    added: [...after.keys()].filter((id) => !before.has(id)),
    removed: [...before.keys()].filter((id) => !after.has(id)),
    changed: [...after.keys()].filter((id) => before.has(id) && before.get(id).fingerprint !== after.get(id).fingerprint),
  };
  return change.added.length + change.removed.length + change.changed.length > 0 ? change : null;
}
