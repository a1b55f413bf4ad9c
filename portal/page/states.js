import {expiryText, nameOf, readClaims, timeLeft} from './caller.js';
import {button, element, isolated, pluralize} from './element.js';
import {allInstancesText, instancesText} from './instances.js';
import {serviceHash} from './route.js';

// What the middle shows when there is no operation.

/** Marks an operation that has left the bus while it was shown. */
export const gone = 'gone';

const mostCards = 120; // services shown at first; the list has all of them

export function loadingView() {
  const lines = [1, 2, 3, 4].map(() => element('div', {className: 'bone'}));
  return element('div', {className: 'state', role: 'status'}, element('p', {className: 'quiet'}, 'Asking the bus …'), ...lines);
}

/** The start: what is on the bus. */
export function startView({services, operations, events, server, leftOut, instances}) {
  const serving = services.filter((one) => one.operations.length > 0); // the instances of others are not known
  const others = services.length - serving.length;
  return element(
    'div',
    {className: 'state'},
    element('h2', {}, 'What is on the bus'),
    element(
      'p',
      {},
      [
        `${pluralize(serving.length, 'service')} with ${pluralize(operations.size, 'operation')}`,
        serving.length > 0 &&
          `, run by ${allInstancesText(
            serving.map(({host}) => host),
            instances,
          )}`,
        events.size > 0 && `; ${pluralize(events.size, 'event')}`,
        others > 0 &&
          `; ${pluralize(others, 'more service')} only publish${others === 1 ? 'es' : ''} or subscribe${others === 1 ? 's' : ''} to events`,
        '. Pick one to read about it and try it.',
      ]
        .filter(Boolean)
        .join(''),
    ),
    element(
      'dl',
      {},
      element('dt', {}, 'Address'),
      element('dd', {}, element('code', {}, server)),
      element('dt', {}, 'Document'),
      element(
        'dd',
        {},
        element('a', {href: 'openapi.json'}, 'openapi.json'),
        ', ',
        element('a', {href: 'openapi.json?version=3.1'}, 'in OpenAPI 3.1'),
        events.size > 0 && ', ',
        events.size > 0 && element('a', {href: 'asyncapi.json'}, 'asyncapi.json'),
      ),
      element('dt', {}, 'TypeScript client'),
      element('dd', {}, element('a', {href: 'client.ts'}, 'client.ts')),
    ),
    leftOutView(leftOut),
    element('h3', {}, 'Services'),
    ...servicesView(services, instances),
    element('h3', {}, 'Keys'),
    keysView(),
  );
}

function servicesView(services, instances) {
  const cards = services
    .slice(0, mostCards)
    .map(({host, description, operations, events}) =>
      element(
        'li',
        {},
        element(
          'a',
          {href: serviceHash(host)},
          element('strong', {}, host),
          element('span', {className: 'quiet'}, aboutService(operations.length, events.length, instances[host])),
          description && element('span', {className: 'quiet about'}, description.split('\n\n')[0]),
        ),
      ),
    );
  const more =
    services.length > mostCards && element('p', {className: 'quiet'}, `… and ${services.length - mostCards} more: search the list.`);
  return [element('ul', {className: 'tiles'}, ...cards), more];
}

/** "2 operations, 1 event, 3 instances". The instances of a service without operations are not known. */
function aboutService(operations, events, instances) {
  return [
    operations > 0 && pluralize(operations, 'operation'),
    events > 0 && pluralize(events, 'event'),
    operations > 0 ? instancesText(instances) : events === 0 && 'subscribes to events',
  ]
    .filter(Boolean)
    .join(', ');
}

function keysView() {
  const keys = [
    [['/'], 'search services, operations and events'],
    [['↑', '↓'], 'move in the list'],
    [['←', '→'], 'close and open a service'],
    [['Enter'], 'open an operation'],
    [['Esc'], 'clear the search, then leave it'],
    [['Ctrl', 'Enter'], 'send the request'],
  ];
  return element(
    'dl',
    {className: 'key-list'},
    ...keys.flatMap(([names, text]) => [
      element('dt', {}, ...names.flatMap((name) => [element('kbd', {}, name), ' '])),
      element('dd', {}, text),
    ]),
  );
}

/** Says how many documents cannot be shown, and how many are not those of all instances; '' for none. */
export function leftOutTitle(leftOut) {
  const differing = leftOut.filter((line) => line.startsWith('Instances of ')).length;
  const missing = leftOut.length - differing;
  return [
    missing > 0 && `${pluralize(missing, 'document')} cannot be shown`,
    differing > 0 && `${pluralize(differing, 'document')} not served by all instances`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** Names the services whose documents cannot be shown, or are not those of all instances. */
export function leftOutView(leftOut) {
  return (
    leftOut.length > 0 &&
    element(
      'section',
      {className: 'notice', 'aria-label': 'Left out'},
      element('strong', {}, leftOutTitle(leftOut)),
      ...foldedList(leftOut),
    )
  );
}

/** Lists some lines; the rest is to be opened, so that it does not displace what is below. */
export function foldedList(lines) {
  const [few, most] = [3, 50];
  const list = (some) => element('ul', {}, ...some.map((line) => element('li', {}, line)));
  return [
    list(lines.slice(0, few)),
    lines.length > few &&
      element(
        'details',
        {},
        element('summary', {}, `${lines.length - few} more`),
        list(lines.slice(few, most)),
        lines.length > most && element('p', {}, `… and ${lines.length - most} more.`),
      ),
  ];
}

export function emptyView({leftOut, server}, caller) {
  return element(
    'div',
    {className: 'state empty'},
    element('h2', {}, 'Nothing here yet'),
    element(
      'p',
      {},
      caller.token
        ? 'No service on the bus has an operation that this token may call.'
        : 'No service on the bus has a public operation for everybody.',
    ),
    element('p', {}, 'Start one, and it appears here by itself: ', element('code', {}, 'go run ./examples/hello')),
    element('p', {className: 'quiet'}, `Looked through ${server}.`),
    leftOutView(leftOut),
  );
}

/** Why nothing is known of the bus. */
export function failedView(error, {again}) {
  const titles = {0: 'The portal is out of reach', 503: 'The bus is out of reach'};
  return element(
    'div',
    {className: 'state', role: 'alert'},
    element('h2', {}, titles[error.status] || 'The bus cannot be read'),
    element('p', {}, error.message),
    element('p', {className: 'quiet'}, 'The page keeps trying.'),
    button('Try now', again),
  );
}

/** The token was refused, so nothing is shown. */
export function refusedView(error, caller, {changeToken, dropToken}) {
  const claims = readClaims(caller.token);
  const expired = claims && timeLeft(claims) < 0;
  return element(
    'div',
    {className: 'state', role: 'alert'},
    element('h2', {}, expired ? 'This token has expired' : 'This token is refused'),
    element('p', {className: 'notice bad'}, error.message),
    element(
      'p',
      {},
      claims
        ? `It belongs to ${nameOf(claims)}, and ${expiryText(claims)}. An invalid token is never treated as no token, so nothing is shown.`
        : 'It cannot be read as a JWT. An invalid token is never treated as no token, so nothing is shown.',
    ),
    element(
      'div',
      {className: 'buttons'},
      button('Change the token', changeToken),
      button('Look as nobody', dropToken, {className: 'plain'}),
    ),
  );
}

/** An address that does not exist. Charts are those of a service that is gone; null for none. */
export function unknownView({view, parts, host, port, method, path, event}, caller, charts) {
  const what = method
    ? `${method.toUpperCase()} ${host}:${port}${path}`
    : event
      ? `${event} of ${host}`
      : host || [view, ...parts].join('/');
  return element(
    'div',
    {className: 'state', role: 'status'},
    element('h2', {}, 'Not on the bus'),
    element(
      'p',
      {},
      element('code', {}, isolated(what)),
      caller.token ? ' is not there, or not for this token.' : ' is not there, or not for everybody: a token may show it.',
    ),
    element('p', {className: 'quiet'}, 'If it appears, it is shown here.'),
    element('p', {}, element('a', {href: '#/'}, 'All services')),
    charts,
  );
}
