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

/** Why a request is not sent. */
export class NotSent extends Error {
  name = 'NotSent';
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
function fetchable(request, caller, signal) {
  const url = destination(request);
  try {
    return new Request(url, {
      method: request.method,
      headers: {...request.headers, ...(request.type ? {'Content-Type': request.type} : {}), ...caller.headers},
      body: request.form ? formData(request.form) : request.body,
      redirect: 'follow',
      credentials: 'omit',
      signal,
    });
  } catch (error) {
    throw new NotSent(`Not sent, the browser refuses it: ${error.message}`);
  }
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
 * @returns {{status, statusText, headers, url, redirected, bytes, cut, streamed, text, milliseconds, answered}} text is
 *   null if the body is none; cut is how many bytes before these are not kept
 */
export async function send(request, caller, signal, show = () => {}) {
  const started = performance.now();
  const response = await fetch(fetchable(request, caller, signal));
  return read(response, started, show);
}

const longestKept = 1 << 20; // bytes of a stream
const showPause = 200; // ms
const lineEnd = 10; // in UTF-8

async function read(response, started, show) {
  const {status, statusText, headers, url, redirected} = response;
  const streamed = Boolean(show && response.body) && !headers.has('content-length') && !headers.has('content-encoding');
  const result = (bytes, cut, goesOn = false) => {
    const text = textOf(bytes, headers.get('content-type') || '', goesOn);
    const milliseconds = performance.now() - started;
    return {status, statusText, headers, url, redirected, bytes, cut, streamed, text, milliseconds, answered: whoAnswered(headers, text)};
  };
  if (!streamed) {
    return result(await response.arrayBuffer(), 0);
  }
  return result(...(await follow(response.body.getReader(), (bytes, cut) => show(result(bytes, cut, true)))));
}

/** Reads a stream. Of a long one the end is kept. */
async function follow(reader, show) {
  let kept = new Uint8Array();
  let cut = 0;
  let shown = 0;
  const update = () => {
    shown = performance.now();
    show(kept, cut);
  };
  let waiting;
  try {
    for (;;) {
      const {done, value} = await reader.read();
      if (done) {
        return [kept, cut];
      }
      const all = new Uint8Array(kept.length + value.length);
      all.set(kept);
      all.set(value, kept.length);
      let surplus = Math.max(0, all.length - longestKept);
      if (surplus > 0) {
        surplus = all.indexOf(lineEnd, surplus) + 1 || surplus;
      }
      kept = all.slice(surplus);
      cut += surplus;
      clearTimeout(waiting);
      if (performance.now() - shown >= showPause) {
        update();
      } else {
        waiting = setTimeout(update, showPause);
      }
    }
  } catch (error) {
    update();
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
  return result.status < 300 ? {...JSON.parse(result.text), milliseconds: result.milliseconds} : result;
}

/** Sends JSON to the portal itself; returns what send does. */
export async function post(name, json, caller, signal) {
  const started = performance.now();
  const response = await fetch(name, {
    method: 'POST',
    headers: {'Content-Type': 'application/json', ...caller.headers},
    body: json,
    credentials: 'omit',
    signal,
  });
  return read(response, started);
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
