import {read} from './json.js';

/** A JSON document of the portal as a caller sees it. It keeps the latest value, and asks only whether there is another. */
export class Source {
  #address;
  #caller;
  #latest = null; // {token, etag, value}

  constructor(address, caller) {
    this.#address = address;
    this.#caller = caller;
  }

  /**
   * Fetches the document. Throws what fetch throws.
   * @returns {Promise<{status: number, value: Object, detail: string}>} the value is the same object, in all its parts, as far as nothing has
   *   changed; it is undefined if the portal sends none, and then detail says why
   */
  async fetch(signal) {
    const {token} = this.#caller;
    const base = this.#latest?.token === token ? this.#latest : null;
    const response = await this.#ask(signal, base?.etag ? {'If-None-Match': base.etag} : {});
    if (response.status === 304 && base) {
      return {status: 200, value: base.value};
    }
    const value = parse(await response.text());
    if (!response.ok || value === undefined) {
      return {status: response.status, detail: value?.detail || `the portal answers ${response.status}`};
    }
    this.#latest = {token, etag: response.headers.get('ETag'), value: share(base?.value, value)};
    return {status: 200, value: this.#latest.value};
  }

  #ask(signal, headers) {
    return fetch(this.#address, {headers: {Accept: 'application/json', ...this.#caller.headers, ...headers}, signal});
  }
}

function parse(text) {
  try {
    return read(text);
  } catch {
    return undefined;
  }
}

/** Returns a value that equals after, with all parts of before that have not changed. It changes after. */
export function share(before, after) {
  if (!isCompound(before) || !isCompound(after) || Array.isArray(before) !== Array.isArray(after)) {
    return after;
  }
  const names = Object.keys(after);
  let same = names.length === Object.keys(before).length;
  for (const name of names) {
    if (Object.hasOwn(before, name)) {
      after[name] = share(before[name], after[name]); // a member of its own, even if it is called __proto__
      same &&= after[name] === before[name];
    } else {
      same = false;
    }
  }
  return same ? before : after;
}

function isCompound(value) {
  return typeof value === 'object' && value !== null;
}
