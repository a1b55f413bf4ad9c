// A request as the form of an operation describes it: {method, host, port, path, query, headers, target, body, type, to}.
// target is the path at the ingress; to is "" for any instance, "*" for all of them, otherwise the id of one.

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
    method: operation.method.toUpperCase(), host: one + operation.host, port: operation.port, path, query: search, headers,
    target: `/${one}${operation.host}:${operation.port}${path}${search}`,
    body: values.body, type: values.body === undefined ? '' : values.type, to,
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

/** The request for a browser, which refuses some that others can make: a GET with a body, a header that is not Latin-1. */
function fetchable(request, caller, signal) {
  const url = destination(request);
  try {
    return new Request(url, {
      method: request.method,
      headers: {...request.headers, ...(request.type ? {'Content-Type': request.type} : {}), ...caller.headers},
      body: request.body,
      redirect: 'follow',
      credentials: 'omit',
      signal,
    });
  } catch (error) {
    throw new NotSent(`Not sent, the browser refuses it: ${error.message}`);
  }
}

/**
 * Makes the call.
 * @throws {NotSent}
 * @param {Caller} caller for whom
 * @returns {{status, statusText, headers, url, redirected, bytes, text, milliseconds, answered}} text is null if the
 *   body is none
 */
export async function send(request, caller, signal) {
  const started = performance.now();
  const response = await fetch(fetchable(request, caller, signal));
  return read(response, started);
}

async function read(response, started) {
  const bytes = await response.arrayBuffer();
  const {status, statusText, headers, url, redirected} = response;
  const text = textOf(bytes, headers.get('content-type') || '');
  const milliseconds = performance.now() - started;
  return {status, statusText, headers, url, redirected, bytes, text, milliseconds, answered: whoAnswered(headers, text)};
}

/** Decodes a text, UTF-8 unless its type says otherwise; null if it is none. */
function textOf(bytes, type) {
  const [, charset = 'utf-8'] = type.match(/;\s*charset="?([^\s;"]+)/i) || [];
  try {
    return new TextDecoder(charset, {fatal: true}).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Makes the call to all instances, through the portal: {answers, complete}, or {status, …} like send if it is refused.
 */
export async function multicast(request, caller, signal) {
  const {method, target, headers, body, type} = request;
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
    method: 'POST', headers: {'Content-Type': 'application/json', ...caller.headers}, body: json, credentials: 'omit', signal,
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
