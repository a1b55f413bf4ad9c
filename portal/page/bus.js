import {readServices, readTypes} from './document.js';
import {readEvents, withConverted, withEvents} from './eventdocument.js';
import {Source} from './source.js';

const interval = 4000; // milliseconds between polls, while the page is visible
const longestInterval = 15_000; // after failed polls
const requestTimeout = 12_000; // for one response; the portal takes less, even if it waits for services

/**
 * The bus as one caller sees it. It polls while the page is visible, and passes what it finds to all listeners: {phase,
 * services, operations, events, types, complete, server, instances, plane, leftOut, error, seen, change}. At first the events
 * may be missing: the state is complete when they are there.
 *
 * phase is "loading" until the first poll has ended, then "ready", "failed", or "refused" if the token is refused; a
 * error beside "ready" means that what is shown is as old as seen says.
 */
export class Bus {
  #listeners = [];
  #sources;
  #documents = []; // of the latest poll
  #looks = 0; // number of polls begun; one that is not the latest may be for another token
  #failures = 0;
  #timer = 0;
  #awake = false;
  state;

  constructor(caller) {
    this.#sources = ['openapi.json', 'asyncapi.json', 'instances.json'].map((address) => new Source(address, caller));
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
      found = {documents: await this.#fetchAll(mine)};
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
    this.#documents = [];
    this.#failures = 0;
    this.state = {
      phase: 'loading',
      services: [],
      operations: new Map(),
      events: new Map(),
      types: () => new Map(),
      complete: false,
      server: '',
      instances: {},
      plane: 'bus',
      leftOut: [],
      error: null,
      seen: null,
      change: null,
    };
  }

  #apply({documents, error}) {
    const {phase} = this.state;
    if (error) {
      const lost = phase === 'ready' ? 'ready' : 'failed'; // what was seen stays
      this.state = {...this.state, phase: error.status === 401 && phase !== 'ready' ? 'refused' : lost, error, change: null};
    } else if (phase === 'ready' && documents.every((one, at) => one === this.#documents[at])) {
      const quiet = !this.state.error && !this.state.change;
      this.state = {...this.state, error: null, seen: new Date(), change: null};
      if (quiet) {
        return; // nothing to report
      }
    } else {
      this.#read(documents);
      this.#documents = documents;
    }
    this.#notify();
  }

  /** Reads documents; that of the events is null if it is not there yet. */
  #read([description, eventDescription, list]) {
    const events = readEvents(eventDescription || {});
    const services = withEvents(readServices(description), events);
    const operations = new Map(services.flatMap((service) => service.operations).map((one) => [one.id, one]));
    const change = this.state.phase === 'ready' ? difference(this.state.operations, operations) : null;
    this.state = {
      phase: 'ready',
      services,
      operations,
      events: new Map(events.map((event) => [event.id, event])),
      types: once(() => new Map([...readTypes(withConverted(eventDescription || {})), ...readTypes(description)])),
      change,
      error: null,
      seen: new Date(),
      complete: eventDescription !== null,
      server: description.servers?.[0]?.url || '',
      instances: list.hosts || {},
      plane: list.plane,
      leftOut: [...new Set([description, eventDescription].flatMap((one) => one?.info?.['x-left-out'] || []))],
    };
  }

  #notify() {
    for (const listener of this.#listeners) {
      listener(this.state);
    }
  }

  async #fetchAll(mine) {
    const asked = this.#sources.map((source) => fetchFrom(source));
    if (this.state.phase === 'loading') {
      // events may take longer than the rest, which is shown meanwhile
      Promise.all([asked[0], null, asked[2]]).then(
        (documents) => {
          if (mine === this.#looks && this.state.phase === 'loading') {
            this.#apply({documents});
          }
        },
        () => {},
      ); // reported below
    }
    return Promise.all(asked);
  }
}

/** A function that calls make once, and returns what that returned. */
function once(make) {
  let value;
  return () => {
    value ??= make();
    return value;
  };
}

async function fetchFrom(source) {
  let answer;
  try {
    answer = await source.fetch(AbortSignal.timeout(requestTimeout));
  } catch (error) {
    if (error.name === 'NotSent') {
      throw new PortalError(401, error.message);
    }
    throw new PortalError(0, `the portal does not answer${error.name === 'TimeoutError' ? ' in time' : ''}`);
  }
  if (answer.value) {
    return answer.value;
  }
  throw new PortalError(answer.status, answer.detail);
}

/** Why a poll has failed. The status is 0 if there was no response at all. */
class PortalError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** The differences between two polls: ids of operations. */
function difference(before, after) {
  const change = {
    added: [...after.keys()].filter((id) => !before.has(id)),
    removed: [...before.keys()].filter((id) => !after.has(id)),
    changed: [...after.keys()].filter((id) => differs(before.get(id), after.get(id))),
  };
  return change.added.length + change.removed.length + change.changed.length > 0 ? change : null;
}

function differs(before, after) {
  return before !== undefined && before !== after && before.fingerprint !== after.fingerprint;
}
