import {compact} from './json.js';
import {authorization} from './token.js';

// A request that the form of an operation stands for.

const portal = new URL('..', document.baseURI).href.replace(/\/$/, ''); // where the ingress is found

// buildRequest returns {method, target, body, type}. Values are those of the form, by place and name.
export function buildRequest(operation, values) {
  let target = operation.key;
  const query = new URLSearchParams(values.query);
  for (const {name, place} of operation.parameters) {
    const value = values[`${place} ${name}`];
    if (place === 'path' && value !== '') {
      target = target.replace(`{${name}}`, () => encodeURIComponent(value));
    } else if (place === 'query' && value !== '') {
      query.append(name, value);
    }
  }
  target += query.size > 0 ? `?${query}` : '';
  return {method: operation.method.toUpperCase(), target, body: values.body, type: operation.body?.type};
}

// send makes the call and returns {status, statusText, headers, text, milliseconds}.
export async function send(request, signal) {
  const started = performance.now();
  const response = await fetch(portal + request.target, {
    method: request.method,
    headers: {...(request.type ? {'Content-Type': request.type} : {}), ...authorization()},
    body: request.body,
    redirect: 'follow',
    signal,
  });
  const text = await response.text();
  const milliseconds = performance.now() - started;
  return {status: response.status, statusText: response.statusText, headers: response.headers, text, milliseconds};
}

// curl returns the line that makes the same call from a shell.
export function curl(operation, request) {
  const words = ['curl', '-i'];
  const usual = request.body === undefined ? 'GET' : 'POST';
  if (request.method === 'HEAD') {
    words.push('-I');
  } else if (request.method !== usual) {
    words.push('-X', request.method);
  }
  words.push(shellQuote((operation.server || portal) + request.target));
  if (request.body !== undefined) {
    words.push('-H', shellQuote(`Content-Type: ${request.type}`), '--data-raw', shellQuote(compact(request.body)));
  }
  if (authorization().Authorization) {
    words.push('-H', '"Authorization: Bearer $TOKEN"'); // a secret, which is not to stand in anybody's terminal
  }
  return words.join(' ');
}

function shellQuote(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
