import {element} from './element.js';

// Routes of the page, which are the part of its address after "#":
//
//   #/                              what is on the bus
//   #/calculator.example/           a service; the last slash may be missing, as when it was typed
//   #/calculator.example:443/POST/add  an operation
//   #/events/orders.example/on-ordered  an event of a publisher
//   #/events/orders.example/on-ordered/mailer.example  what a service does with it
//   #/compare                       another view, by its name; names have no dot, and no slash after them

/** Parses an address: {view, host, port, method, path, event, subscriber}; what does not apply is "". */
export function readRoute(hash) {
  const text = hash.replace(/^#?\/?/, '');
  const none = {view: '', host: '', port: '', method: '', path: '', event: '', subscriber: ''};
  const operation = text.match(/^([^/:]+):(\d+)\/([A-Za-z]+)(\/.*)$/);
  if (operation) {
    const [, host, port, method, path] = operation;
    return {...none, host, port, method: method.toLowerCase(), path: decodePath(path)};
  }
  const event = text.match(/^events\/([^/]+)\/([^/]+)(?:\/([^/]+))?$/);
  if (event) {
    const [host, name, subscriber] = event.slice(1).map((part) => decodePath(part || ''));
    return {...none, host, event: name, subscriber};
  }
  const service = text.match(/^([^/:]+)\/$/) || text.match(/^([^/:]+\.[^/:]+)$/);
  return service ? {...none, host: service[1]} : {...none, view: text};
}

/** The address of an operation. */
export function operationHash({host, port, method, path}) {
  return `#/${host}:${port}/${method.toUpperCase()}${encodePath(path)}`;
}

/** The address of an event, or of what a service does with it. */
export function eventHash({publisher, name}, subscriber = '') {
  return ['#/events', ...[publisher, name, subscriber].filter(Boolean).map(encodeURIComponent)].join('/');
}

/** The address of a service. */
export function serviceHash(host) {
  return `#/${host}/`;
}

function encodePath(path) {
  return path
    .split('/')
    .map((segment) => encodeURIComponent(segment).replaceAll('%7B', '{').replaceAll('%7D', '}'))
    .join('/');
}

function decodePath(path) {
  try {
    return path.split('/').map(decodeURIComponent).join('/');
  } catch {
    // typed by hand
    return path;
  }
}

/**
 * The path of an operation, with its port unless that is the usual one. It is struck out if the operation is
 * deprecated; className is that of the word which says so, "visually-hidden" where only screen readers need it.
 */
export function pathView({port, path, deprecated}, className = 'deprecated') {
  const text = (port === '443' ? '' : `:${port}`) + path;
  return element(
    'span',
    {className: 'path'},
    deprecated ? element('s', {}, text) : text,
    deprecated && element('span', {className}, ' deprecated'),
  );
}
