/**
 * The identity for which calls are made and the bus is shown: that of a token, or an anonymous one. The token is kept
 * in this tab only, and is gone when the tab is closed.
 */
export class Caller {
  #name;
  #listeners = [];
  token;

  /** @param {string} name under which the tab stores the token */
  constructor(name) {
    this.#name = name;
    this.token = this.#stored();
  }

  /** The headers that identify the caller. What no token has, and no header, is encoded: services refuse it. */
  get headers() {
    return this.token ? {Authorization: `Bearer ${encodeURI(this.token.toWellFormed?.() ?? this.token)}`} : {};
  }

  /** Sets another token, "" for none, and notifies the listeners. */
  change(token) {
    const bare = token.trim().replace(/^(authorization: *)?bearer +/i, '');
    if (bare === this.token) {
      return;
    }
    this.token = bare;
    try {
      sessionStorage.setItem(this.#name, bare);
    } catch { /* see #stored */ }
    this.#listeners.forEach((listener) => listener());
  }

  /** Calls listener after each change. */
  onChange(listener) {
    this.#listeners.push(listener);
  }

  #stored() {
    try {
      return sessionStorage.getItem(this.#name) || '';
    } catch { // the browser stores nothing: the token lasts until the page is reloaded
      return '';
    }
  }
}
