import {element} from './element.js';

// Routes of the page, which are the part of its address after "#":
//
//   #/                              what is on the bus
//   #/calculator.example/           a service; the last slash may be missing, as when it was typed
//   #/calculator.example:443/POST/add  an operation
//   #/events/orders.example/on-ordered  an event of a publisher
//   #/events/orders.example/on-ordered/mailer.example  what a service does with it
//   #/compare                       another view, by its name; names have no dot
//   #/map/ingress/calculator.example  a view of something, which it names in parts

/**
 * Parses an address: {view, parts, host, port, method, path, event, subscriber, query}; what does not apply is "", and
 * no parts.
 */
export function readRoute(hash) {
  const [text, query = ''] = splitQuery(hash.replace(/^#?\/?/, ''));
  const none = {view: '', parts: [], host: '', port: '', method: '', path: '', event: '', subscriber: '', query};
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
  const empty = text.match(/^(trace|types)\/$/); // hosts are hardly called so
  if (empty) {
    return {...none, view: empty[1]};
  }
  const service = text.match(/^([^/:]+)\/$/) || text.match(/^([^/:]+\.[^/:]+)$/);
  if (service) {
    return {...none, host: service[1]};
  }
  const viewed = text.match(/^([a-z]+)\/(.+)$/);
  return viewed ? {...none, view: viewed[1], parts: viewed[2].split('/').map(decodePath)} : {...none, view: text};
}

/** Splits an address at its first "?". */
function splitQuery(text) {
  const at = text.indexOf('?');
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** The address of a view of something that these parts name. */
export function viewHash(view, ...parts) {
  return ['#', view, ...parts.map(encodeURIComponent)].join('/');
}

/** The address of an operation, with values that its form has, as values.js writes them. */
export function operationHash({host, port, method, path}, values = '') {
  return `#/${host}:${port}/${method.toUpperCase()}${encodePath(path)}${values && `?${values}`}`;
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
