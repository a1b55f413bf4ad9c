import {NotSent} from './caller.js';
import {newTraceparent, traceIdOf} from './traceids.js';

// A request as the form of an operation describes it: {method, host, port, path, query, headers, target, body, form,
// type, to}. target is the path at the ingress; to is "" for any instance, "*" for all of them, otherwise the id of
// one. form has the entries of a form with files, [[name, string or File]], and is undefined for any other body.

export const anyInstance = '';
export const allInstances = '*';

const portal = new URL('..', document.baseURI).href.replace(/\/$/, ''); // address of the ingress

/** Makes a request. values are those of the form, by place and name. */
export function buildRequest(operation, values, to = anyInstance) {
  let {path} = operation;
  const query = new URLSearchParams(values.query);
  const headers = {};
  for (const {name, place} of operation.parameters) {
    const value = values[`${place} ${name}`];
    if (place === 'path' && value !== '') {
      path = path.replace(new RegExp(`\\{${RegExp.escape?.(name) ?? name}\\+?\\}`), () => encodeURIComponent(value));
    } else if (place === 'query' && value !== '') {
      query.append(name, value);
    } else if (place === 'header' && value !== '') {
      headers[name] = value;
    }
  }
  const one = to === anyInstance || to === allInstances ? '' : `${to}.`;
  const search = query.size > 0 ? `?${query}` : '';
  return {
    method: operation.method.toUpperCase(),
    host: one + operation.host,
    port: operation.port,
    path,
    query: search,
    headers,
    target: `/${one}${operation.host}:${operation.port}${path}${search}`,
    body: values.body,
    form: values.form,
    type: values.body === undefined ? '' : values.type,
    to,
  };
}

/** The address of a request, for other programs. */
export function addressOf(operation, request) {
  return (operation.server || portal) + request.target;
}

/**
 * Returns where to send a request: exactly where its path says. A browser resolves segments of one or two dots, however
 * a path came by them, and would call something else.
 */
function destination({host, port, path, query}) {
  const place = `/${host}:${port}${path}`.replace(/[^\w\-.~!$&'()*+,;=:@%/]/gu, encodeURIComponent);
  const url = new URL(portal + place + query);
  if (url.href !== portal + place + query) {
    throw new NotSent(`Not sent: a browser would call ${url.pathname} instead of ${place}.`);
  }
  return url;
}

/**
 * The request for a browser, which refuses some that others can make: a GET with a body, a header that is not Latin-1.
 */
function fetchable(request, caller, traceparent, signal) {
  const url = destination(request);
  const identity = caller.headers;
  try {
    return new Request(url, {
      method: request.method,
      headers: {traceparent, ...lowered(request.headers), ...(request.type ? {'Content-Type': request.type} : {}), ...identity},
      body: request.form ? formData(request.form) : request.body,
      redirect: 'follow',
      credentials: 'omit',
      signal,
    });
  } catch (error) {
    throw new NotSent(`Not sent, the browser refuses it: ${error.message}`);
  }
}

/** Headers with names in lower case, so that one replaces another. */
function lowered(headers) {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** The browser adds the boundary, and the type with it. */
function formData(entries) {
  const data = new FormData();
  for (const [name, value] of entries) {
    data.append(name, value);
  }
  return data;
}

/** Why there is no end of a stream. */
export class BrokenOff extends Error {
  name = 'BrokenOff';
}

/**
 * Makes the call.
 * @throws {NotSent, BrokenOff}
 * @param {Caller} caller for whom
 * @param {(result: Object) => void} show is called with what has come so far of a stream, now and then
 * @returns {{status, statusText, headers, url, redirected, bytes, cut, streamed, text, milliseconds, answered, traceId, stream, started,
 *   length, messages}} text is null if the body is none; cut is how many bytes before these are not kept; stream is "running", "stopped", "broken off"
 *   or "ended", and "" for what is no stream; messages is null for a stream that has none
 */
export async function send(request, caller, signal, show = () => {}) {
  const started = performance.now();
  const {traceparent = newTraceparent().field} = lowered(request.headers);
  const traceId = traceIdOf(traceparent);
  try {
    return await read(await fetch(fetchable(request, caller, traceparent, signal)), started, traceId, show);
  } catch (error) {
    throw error instanceof NotSent ? error : Object.assign(error, {traceId}); // what it has called may be known
  }
}

const longestKept = 1 << 20; // bytes of a stream
const showPause = 200; // ms
const lineEnd = 10; // in UTF-8
const carriageReturn = 13;

async function read(response, started, traceId, show) {
  const {status, statusText, headers, url, redirected} = response;
  const streamed = Boolean(show && response.body) && !headers.has('content-length') && !headers.has('content-encoding');
  const type = headers.get('content-type') || '';
  const result = ({bytes, cut, lines, blank}, stream) => {
    const text = textOf(bytes, type, stream === 'running');
    const milliseconds = performance.now() - started;
    const messages = type.startsWith('text/event-stream') ? blank : /ndjson|jsonl|json-seq/.test(type) ? lines : null;
    const answered = whoAnswered(headers, text);
    const count = {traceId, stream, started, length: cut + bytes.byteLength, messages};
    return {status, statusText, headers, url, redirected, bytes, cut, streamed, text, milliseconds, answered, ...count};
  };
  if (!streamed) {
    return result({bytes: await response.arrayBuffer(), cut: 0}, '');
  }
  return result(await follow(response.body.getReader(), (kept, stream) => show(result(kept, stream))), 'ended');
}

/**
 * Reads a stream: {bytes, cut, lines, blank}, where blank are the empty lines, which end events. Of a long one the end is
 * kept. It calls show with what has come, and "running", "stopped" or "broken off".
 */
async function follow(reader, show) {
  let bytes = new Uint8Array();
  let cut = 0;
  let [lines, blank, before] = [0, 0, 0];
  let shown = 0;
  const update = (stream = 'running') => {
    shown = performance.now();
    show({bytes, cut, lines, blank}, stream);
  };
  let waiting;
  try {
    for (;;) {
      const {done, value} = await reader.read();
      if (done) {
        return {bytes, cut, lines, blank};
      }
      for (const byte of value) {
        lines += byte === lineEnd ? 1 : 0;
        blank += byte === lineEnd && before === lineEnd ? 1 : 0;
        before = byte === carriageReturn ? before : byte;
      }
      const all = new Uint8Array(bytes.length + value.length);
      all.set(bytes);
      all.set(value, bytes.length);
      let surplus = Math.max(0, all.length - longestKept);
      if (surplus > 0) {
        surplus = all.indexOf(lineEnd, surplus) + 1 || surplus;
      }
      bytes = all.slice(surplus);
      cut += surplus;
      clearTimeout(waiting);
      if (performance.now() - shown >= showPause) {
        update();
      } else {
        waiting = setTimeout(() => update(), showPause);
      }
    }
  } catch (error) {
    update(error.name === 'AbortError' ? 'stopped' : 'broken off');
    throw error.name === 'AbortError' ? error : new BrokenOff();
  } finally {
    clearTimeout(waiting);
  }
}

/**
 * Decodes a text, UTF-8 unless its type says otherwise; null if it is none. One that goes on may end within a
 * character.
 */
function textOf(bytes, type, goesOn) {
  const [, charset = 'utf-8'] = type.match(/;\s*charset="?([^\s;"]+)/i) || [];
  try {
    return new TextDecoder(charset, {fatal: true}).decode(bytes, {stream: goesOn});
  } catch {
    return null;
  }
}

/**
 * Makes the call to all instances, through the portal: {answers, complete}, or {status, …} like send if it is refused.
 */
export async function multicast(request, caller, signal) {
  const {method, target, headers, body, form, type} = request;
  if (form) {
    throw new NotSent('Not sent: a multicast from this page has no form with files.');
  }
  if (Object.keys(headers).length > 0) {
    throw new NotSent('Not sent: a multicast from this page has no headers.');
  }
  const result = await post('multicast', JSON.stringify({method, target, body: body ?? '', contentType: type}), caller, signal);
  const {milliseconds, traceId} = result;
  return result.status < 300 ? {...JSON.parse(result.text), milliseconds, traceId} : result;
}

/** Sends JSON to the portal itself; returns what send does. */
export async function post(name, json, caller, signal) {
  const started = performance.now();
  const trace = newTraceparent();
  const response = await fetch(name, {
    method: 'POST',
    headers: {'Content-Type': 'application/json', traceparent: trace.field, ...caller.headers},
    body: json,
    credentials: 'omit',
    signal,
  });
  return read(response, started, trace.id);
}

/** Which instance responded, and the message ID: from the ingress's header, or from the body of an error. */
function whoAnswered(headers, text) {
  const [, id, host, message] = headers.get('proxy-status')?.match(/busline; next-hop="([^".]+)\.([^"]+)"; msg-id="([^"]*)"$/) || [];
  if (id) {
    return {id, host, message};
  }
  try {
    const {id, host, msgId} = JSON.parse(text);
    return typeof host === 'string' && typeof id === 'string' ? {id, host, message: msgId || ''} : null;
  } catch {
    return null;
  }
}
