/**
 * Somebody for whom calls are made and the bus is looked at: whom a token names, or nobody. The token stays in this
 * tab, and ends with it.
 */
export class Caller {
  #name;
  #listeners = [];
  token;

  /** @param {string} name under which the tab keeps the token */
  constructor(name) {
    this.#name = name;
    this.token = this.#stored();
  }

  /** The headers that say who calls. */
  get headers() {
    return this.token ? {Authorization: `Bearer ${this.token}`} : {};
  }

  /** Takes another token, "" for nobody, and tells all who listen. */
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

  /** Has listener called after each change. */
  onChange(listener) {
    this.#listeners.push(listener);
  }

  #stored() {
    try {
      return sessionStorage.getItem(this.#name) || '';
    } catch { // the browser keeps nothing: so it lasts until the page is loaded again
      return '';
    }
  }
}
