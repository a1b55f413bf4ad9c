import {copyButton} from './copy.js';
import {element} from './element.js';
import {write} from './json.js';
import {textView} from './jsonview.js';
import {pathView} from './path.js';
import {operationHash, serviceHash} from './route.js';
import {example} from './schema.js';
import {isNothing, memberView, schemaView} from './schemaview.js';

/** Shows the description of an operation: its signature, what it takes and returns, and who may call it. */
export function operationView(operation) {
  const {host, port, method, path, signature, web} = operation;
  const link = () => new URL(operationHash(operation), document.baseURI).href;
  return element('article', {className: 'operation', 'aria-labelledby': 'operation-title'},
    element('p', {className: 'crumbs'},
      element('a', {href: '#/', className: 'back'}, 'Services'), element('a', {href: serviceHash(host)}, host),
      copyButton(link, 'Copy the link to this operation', 'Copy link')),
    element('h2', {id: 'operation-title', tabIndex: -1},
      element('span', {className: `method ${method}`}, method.toUpperCase()), ' ', pathView(operation)),
    !web && element('p', {className: 'signature'}, element('code', {}, signature)),
    operation.description && element('p', {className: 'description'}, operation.description),
    element('p', {className: 'quiet'}, 'On the bus: ', element('code', {}, `https://${host}:${port}${path}`)),
    claimsView(operation),
    argumentsView(operation),
    ...operation.responses.map((response) => responseView(operation, response)));
}

function claimsView({secured}) {
  return element('p', {className: secured ? 'claims asked' : 'claims'}, secured
    ? 'Requires a token whose claims suffice. Callers without such claims do not see this operation at all.'
    : 'Requires no token.');
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
      element('p', {className: 'quiet'}, `In the body, ${body.type}:`),
      schemaView(body.schema, signature),
      exampleView('Example of a body', body.schema, signature));
  }
  if (shown.length === 0) {
    shown.push(element('p', {className: 'quiet'}, operation.web
      ? 'A handler of HTTP requests: what it takes is not described.'
      : 'None.'));
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
  const make = () => contents.flatMap(({type, schema}) => isNothing(schema) ? [] : [
    contents.length > 1 && element('p', {className: 'quiet'}, `As ${type}:`),
    schemaView(schema, signature),
    exampleView(`Example of ${type}`, schema, signature),
  ]).filter(Boolean);
  if (good) {
    return element('section', {'aria-label': `Response ${status}`}, element('h3', {}, ...title), ...make());
  }
  const details = element('details', {className: 'response-kind'}, element('summary', {}, element('h3', {}, ...title)));
  details.addEventListener('toggle', () => {
    const inside = make();
    details.append(...(inside.length ? inside : [element('p', {className: 'quiet'}, 'Its body is not described.')]));
  }, {once: true});
  return details;
}

function exampleView(title, schema, signature) {
  const details = element('details', {className: 'example'}, element('summary', {}, title));
  details.addEventListener('toggle', () => {
    details.append(textView(write(example(schema, signature)), title));
  }, {once: true});
  return details;
}
