import {Source} from './source.js';

const period = 2000; // milliseconds between polls
const requestTimeout = 8000; // milliseconds to wait for a response

/**
 * Polls a JSON document of the portal every 2 seconds while it is watched and the page is visible, and not otherwise.
 */
export class Poller {
  #caller;
  #source;
  #on;
  #asking = null; // the running request
  #timer = 0;

  /**
   * @param {string} address of the document
   * @param {Caller} caller for whom
   * @param {{watched: function(): boolean, apply: function(Object), miss: function(number, string)}} on apply gets a
   *   document; miss gets the status, 0 for no answer, and why there is none
   */
  constructor(address, caller, on) {
    this.#caller = caller;
    this.#source = new Source(address, caller);
    this.#on = on;
    document.addEventListener('visibilitychange', () => this.wake());
  }

  /** Polls from now on, as long as there is something to poll for. */
  wake() {
    if (!this.#asking && !this.#timer && this.#on.watched() && document.visibilityState === 'visible') {
      this.#ask();
    }
  }

  /** Polls another document, at once. */
  turnTo(address) {
    this.#source = new Source(address, this.#caller);
    this.reset();
  }

  /** Drops a running request, which is for another caller or document, and polls at once. */
  reset() {
    this.#asking?.abort();
    this.#asking = null;
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.wake();
  }

  async #ask() {
    const asking = new AbortController();
    this.#asking = asking;
    const late = setTimeout(() => asking.abort(), requestTimeout);
    const report = await this.#read(asking.signal);
    clearTimeout(late);
    if (this.#asking === asking) {
      this.#asking = null;
      this.#timer = setTimeout(() => {
        this.#timer = 0;
        this.wake();
      }, period);
      report();
    }
  }

  /** Returns what to report. */
  async #read(signal) {
    try {
      const {status, value, detail} = await this.#source.fetch(signal);
      return () => (value?.taken ? this.#on.apply(value) : this.#on.miss(status, detail || `the portal answers ${status}`));
    } catch (error) {
      if (error.name === 'NotSent') {
        return () => this.#on.miss(401, error.message);
      }
      return () => this.#on.miss(0, signal.aborted ? 'no answer in time' : 'the ingress cannot be reached');
    }
  }
}
