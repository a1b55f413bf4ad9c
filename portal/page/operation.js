import {copyButton} from './buttons.js';
import {isForm} from './document.js';
import {element, pluralize} from './element.js';
import {instancesText} from './instances.js';
import {textView, write} from './json.js';
import {eventHash, operationHash, pathView, serviceHash, viewHash} from './route.js';
import {example, isNothing, memberView, schemaView, typeView} from './schema.js';

/**
 * Shows the description of an operation: its signature, what it takes and returns, and who may call it. values returns
 * those of its form, for a link.
 */
export function operationView(operation, values = () => ({text: '', leftOut: []})) {
  const {host, port, method, path, signature, web} = operation;
  const link = () => {
    const {text, leftOut} = values();
    return {
      text: new URL(operationHash(operation, text), document.baseURI).href,
      note: leftOut.length > 0 ? ` without ${leftOut.join(', ')}` : '',
    };
  };
  return element(
    'article',
    {className: 'operation', 'aria-labelledby': 'operation-title'},
    element(
      'p',
      {className: 'crumbs'},
      element('a', {href: '#/', className: 'back'}, 'Services'),
      element('a', {href: serviceHash(host)}, host),
      copyButton(link, 'Copy link to this operation', 'Copy link'),
    ),
    element(
      'h2',
      {id: 'operation-title', tabIndex: -1},
      element('span', {className: `method ${method}`}, method.toUpperCase()),
      ' ',
      pathView(operation),
    ),
    !web && element('p', {className: 'signature'}, element('code', {}, signature)),
    operation.description && element('p', {className: 'description'}, operation.description),
    element('p', {className: 'quiet'}, 'On the bus: ', element('code', {}, `https://${host}:${port}${path}`)),
    placesView(operation),
    claimsView(operation),
    callersView(operation),
    argumentsView(operation),
    ...operation.responses.map((response) => responseView(operation, response)),
  );
}

/** The public paths that lead to an operation or a service. */
function placesView({places = []}) {
  const paths = places.flatMap((path, at) => [at > 0 && ', ', element('code', {}, path)]);
  return places.length > 0 && element('p', {className: 'quiet places'}, 'Public at ', ...paths);
}

function claimsView({secured}) {
  return element(
    'p',
    {className: secured ? 'claims asked' : 'claims'},
    secured ? 'Requires a token whose claims suffice. Callers without such claims do not see this operation at all.' : 'Requires no token.',
  );
}

/** Which services may call; nothing if all may. */
function callersView({callers}) {
  const hosts = callers.flatMap((host, at) => [at > 0 && ', ', element('code', {}, host)]);
  return callers.length > 0 && element('p', {className: 'claims asked'}, 'Only for callers that prove to be ', ...hosts, '.');
}

function argumentsView(operation) {
  const {parameters, body, signature} = operation;
  const heading = element('h3', {}, 'Arguments');
  const shown = [];
  if (parameters.length > 0) {
    shown.push(element('ul', {className: 'schema'}, ...parameters.map(memberView)));
  }
  if (body && !isNothing(body.schema)) {
    shown.push(
      element('p', {className: 'quiet'}, `In the body, ${body.type}: `, ...typeView(body.schema)),
      schemaView(body.schema, signature),
      !isForm(body.type) && exampleView('Example of a body', () => example(body.schema, signature)),
    );
  }
  if (shown.length === 0) {
    shown.push(element('p', {className: 'quiet'}, operation.web ? 'A handler of HTTP requests: what it takes is not described.' : 'None.'));
  }
  return element('section', {'aria-label': 'Arguments'}, heading, ...shown);
}

/** One response. Those for errors are collapsed, because they are mostly alike. */
function responseView({signature}, {status, description, contents}) {
  const good = status.startsWith('2');
  const title = [
    element('span', {className: `status ${good ? 'good' : 'bad'}`}, status === 'default' ? 'other' : status),
    ` ${description} `,
    element('span', {className: 'quiet'}, contents.map(({type}) => type).join(', ')),
  ];
  const make = () =>
    contents
      .flatMap(({type, schema}) =>
        isNothing(schema)
          ? []
          : [
              element('p', {className: 'quiet'}, contents.length > 1 && `As ${type}: `, ...typeView(schema)),
              schemaView(schema, signature),
              exampleView(`Example of ${type}`, () => example(schema, signature)),
            ],
      )
      .filter(Boolean);
  if (good) {
    return element('section', {'aria-label': `Response ${status}`}, element('h3', {}, ...title), ...make());
  }
  const details = element('details', {className: 'response-kind'}, element('summary', {}, element('h3', {}, ...title)));
  details.addEventListener(
    'toggle',
    () => {
      const inside = make();
      details.append(...(inside.length ? inside : [element('p', {className: 'quiet'}, 'Its body is not described.')]));
    },
    {once: true},
  );
  return details;
}

/** An example, which make returns, when it is expanded. */
export function exampleView(title, make) {
  const details = element('details', {className: 'example'}, element('summary', {}, title));
  details.addEventListener(
    'toggle',
    () => {
      details.append(textView(write(make()), title));
    },
    {once: true},
  );
  return details;
}

/** Shows a service: its instances, its charts, its operations and its events. */
export function serviceView(service, instances, charts) {
  return element(
    'article',
    {className: 'operation', 'aria-labelledby': 'operation-title'},
    element(
      'p',
      {className: 'crumbs'},
      element('a', {href: '#/', className: 'back'}, 'Services'),
      element('a', {href: viewHash('map', service.host)}, 'On the map'),
    ),
    element('h2', {id: 'operation-title', tabIndex: -1}, service.host),
    service.description && element('p', {className: 'description'}, service.description),
    placesView(service),
    ...(service.operations.length > 0 ? [instancesView(instances), charts] : []),
    cardsView('Operations', pluralize(service.operations.length, 'operation'), service.operations.map(card)),
    cardsView(
      'Events',
      pluralize(service.events.length, 'event'),
      service.events.map((event) => eventCard(event, eventHash(event), '')),
    ),
    cardsView(
      'Subscriptions',
      `Subscribes to ${pluralize(service.subscriptions.length, 'event')}`,
      service.subscriptions.map((event) => eventCard(event, eventHash(event, service.host), ` of ${event.publisher}`)),
    ),
  );
}

function cardsView(label, title, cards) {
  return (
    cards.length > 0 && element('section', {'aria-label': label}, element('h3', {}, title), element('ul', {className: 'cards'}, ...cards))
  );
}

function eventCard(event, href, of) {
  const [first] = event.description.split('\n\n');
  return element(
    'li',
    {},
    element(
      'a',
      {href},
      element('span', {className: 'method event'}, 'EVENT'),
      element('span', {className: 'path'}, event.name + of),
      first && element('span', {className: 'quiet'}, first),
    ),
  );
}

function instancesView(instances) {
  const rows = instances.map(({id, version, ports, notReady}) =>
    element(
      'tr',
      {},
      element('th', {scope: 'row'}, element('code', {}, id), notReady && ' not ready'),
      element('td', {}, version || ''),
      element('td', {}, (ports || []).join(', ')),
    ),
  );
  const head = element('tr', {}, ...['Instance', 'Version', 'Ports'].map((name) => element('th', {scope: 'col'}, name)));
  return element(
    'section',
    {'aria-label': 'Instances'},
    element('h3', {}, instancesText(instances)),
    rows.length > 0 && element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows)),
  );
}

function card(operation) {
  const [first] = operation.description.split('\n\n');
  return element(
    'li',
    {},
    element(
      'a',
      {href: operationHash(operation)},
      element('span', {className: `method ${operation.method}`}, operation.method.toUpperCase()),
      pathView(operation),
      operation.secured && element('span', {className: 'lock', role: 'img', 'aria-label': 'asks for a token'}),
      !operation.web && element('code', {className: 'signature'}, operation.signature),
      first && element('span', {className: 'quiet'}, first),
    ),
  );
}
