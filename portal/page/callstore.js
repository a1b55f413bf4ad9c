import {parseTree, treeText, whyNoTree} from './json.js';
import {operationHash} from './route.js';
import {anything, withoutSecrets, withoutTokens} from './values.js';

// The calls made in this browser, the latest first, without tokens and other secrets.

const key = 'calls';
const mostCalls = 100;
const mostCharacters = 200_000; // of all calls
const longestAnswer = 2000; // characters
const longestRead = 200_000; // characters of an answer that is read at all

/**
 * A call is {at, id, host, port, method, path, values, leftOut, status, milliseconds, answer, traceId}: when it
 * began, the operation, its values as values.js writes them and what they lack, and its outcome: the status, a text for a
 * call without one.
 */
class CallStore {
  #listeners = [];
  #kept = null; // while the browser stores nothing

  constructor() {
    addEventListener('storage', (event) => event.key === key && this.#notify());
  }

  /** All calls, the latest first. */
  get calls() {
    if (this.#kept) {
      return this.#kept;
    }
    try {
      const calls = JSON.parse(localStorage.getItem(key) || '[]');
      return Array.isArray(calls) ? calls.filter(isCall) : [];
    } catch {
      return [];
    }
  }

  /** Calls listener after each change, also by another tab. */
  onChange(listener) {
    this.#listeners.push(listener);
  }

  /** Adds a call of an operation; outcome is {status, text} or {status} without a body. */
  add(operation, {text: values, leftOut}, at, milliseconds, {status, text = '', traceId}) {
    const {id, host, port, method, path} = operation;
    const answer = text.length > longestRead ? '(too long to be kept)' : clip(safeAnswer(operation, status, text));
    this.#store([{at, id, host, port, method, path, values, leftOut, status, milliseconds, answer, traceId}, ...this.calls]);
  }

  clear() {
    this.#store([]);
  }

  #store(calls) {
    const few = calls.slice(0, mostCalls);
    while (few.length > 1 && JSON.stringify(few).length > mostCharacters) {
      few.pop();
    }
    try {
      localStorage.setItem(key, JSON.stringify(few));
      this.#kept = null;
    } catch {
      this.#kept = few; // until the page is reloaded
    }
    this.#notify();
  }

  #notify() {
    for (const listener of this.#listeners) {
      listener();
    }
  }
}

/** Reports whether an entry of the storage is a call, as add writes it: another program or another version may write there. */
function isCall(entry) {
  const texts = ['id', 'host', 'port', 'method', 'path', 'values'];
  return (
    typeof entry === 'object' &&
    entry !== null &&
    texts.every((name) => typeof entry[name] === 'string') &&
    Number.isFinite(new Date(entry.at).getTime()) &&
    ['number', 'string'].includes(typeof entry.status) &&
    typeof entry.milliseconds === 'number' &&
    Array.isArray(entry.leftOut) &&
    ['string', 'undefined'].includes(typeof entry.answer)
  );
}

/** An answer without what its schema, or its names, say is secret. */
function safeAnswer({responses}, status, text) {
  try {
    return withoutSecretsOf(responses, status, text);
  } catch {
    return '(too deep to be kept)'; // for the stack of the browser
  }
}

function withoutSecretsOf(responses, status, text) {
  const tree = parseTree(text);
  if (!tree) {
    return /^\s*[[{]/.test(text) ? linesWithoutSecrets(text) : withoutTokens(text);
  }
  const response = responses.find((one) => one.status === String(status)) || responses.find((one) => one.status === 'default');
  const schema = response?.contents[0]?.schema || anything;
  return treeText(withoutSecrets(tree, schema, []));
}

/** A text of JSON in lines without its secrets. What is no JSON, but begins like it, is not kept: it may be cut off. */
function linesWithoutSecrets(text) {
  const trees = text.trim().split(/\r?\n/).map(parseTree);
  return trees.every(Boolean)
    ? trees.map((tree) => treeText(withoutSecrets(tree, anything, []))).join('\n')
    : `(it ${whyNoTree(text)}, and is not kept)`;
}

function clip(text) {
  return text.length > longestAnswer ? `${text.slice(0, longestAnswer)} …` : text;
}

/** The address of a call's operation with its values. */
export function callHash(call) {
  return operationHash(call, call.values);
}

export const callStore = new CallStore();
