import {read} from './json.js';

/**
 * A JSON document of the portal as a caller sees it. It keeps the latest version, and asks only for what has changed
 * since: delta encoding (RFC 3229) as a merge patch (RFC 7396). What a portal without deltas sends is the whole
 * document, each time.
 */
export class Source {
  #address;
  #caller;
  #latest = null; // {token, etag, text, value}; the text if there is no ETag

  constructor(address, caller) {
    this.#address = address;
    this.#caller = caller;
  }

  /**
   * Fetches the document. Throws what fetch throws.
   * @returns {Promise<{status: number, value: Object, detail: string}>} the value is the same object, in all its parts,
   *   as far as nothing has changed; it is undefined if the portal sends none, and then detail says why
   */
  async fetch(signal) {
    const {token} = this.#caller;
    const base = this.#latest?.token === token ? this.#latest : null;
    const response = await this.#ask(signal, base?.etag ? {'If-None-Match': base.etag, 'A-IM': 'merge-patch'} : {});
    if (response.status === 304 && base) {
      return {status: 200, value: base.value};
    }
    const text = await response.text();
    let value = parse(text);
    if (response.status === 226) {
      if (value === undefined || response.headers.get('IM') !== 'merge-patch' || response.headers.get('Delta-Base') !== base?.etag) {
        this.#latest = null;
        return this.fetch(signal); // whole
      }
      value = merge(base.value, value);
    } else if (!response.ok || value === undefined) {
      return {status: response.status, detail: value?.detail || `the portal answers ${response.status}`};
    } else if (text === base?.text) {
      return {status: 200, value: base.value};
    }
    const etag = response.headers.get('ETag');
    this.#latest = {token, etag, text: etag ? null : text, value};
    return {status: 200, value};
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

/** Applies a merge patch. The target stays as it is; the result shares with it all parts that do not change. */
export function merge(target, patch) {
  if (!isObject(patch)) {
    return patch;
  }
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  let changed = !isObject(target);
  for (const [name, part] of Object.entries(patch)) {
    const before = members.get(name);
    if (part === null) {
      changed = members.delete(name) || changed;
      continue;
    }
    const after = merge(before, part);
    changed ||= after !== before;
    members.set(name, after);
  }
  return changed ? Object.fromEntries(members) : target;
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
