import {element, many} from './element.js';
import {pathView} from './path.js';
import {operationHash} from './route.js';

/** Shows a service: its instances and its operations. */
export function serviceView(service, instances) {
  return element('article', {className: 'operation', 'aria-labelledby': 'operation-title'},
    element('p', {className: 'crumbs'}, element('a', {href: '#/', className: 'back'}, 'Services')),
    element('h2', {id: 'operation-title', tabIndex: -1}, service.host),
    service.description && element('p', {className: 'description'}, service.description),
    instancesView(instances),
    element('section', {'aria-label': 'Operations'},
      element('h3', {}, many(service.operations.length, 'operation')),
      element('ul', {className: 'cards'}, ...service.operations.map(card))));
}

function instancesView(instances) {
  const rows = instances.map(({id, version, ports}) => element('tr', {},
    element('th', {scope: 'row'}, element('code', {}, id)),
    element('td', {}, version || ''),
    element('td', {}, (ports || []).join(', '))));
  const head = element('tr', {}, ...['Instance', 'Version', 'Ports'].map((name) => element('th', {scope: 'col'}, name)));
  return element('section', {'aria-label': 'Instances'},
    element('h3', {}, many(instances.length, 'instance')),
    rows.length > 0 && element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows)));
}

function card(operation) {
  const [first] = operation.description.split('\n\n');
  return element('li', {}, element('a', {href: operationHash(operation)},
    element('span', {className: `method ${operation.method}`}, operation.method.toUpperCase()),
    pathView(operation),
    operation.secured && element('span', {className: 'lock', role: 'img', 'aria-label': 'asks for a token'}),
    !operation.web && element('code', {className: 'signature'}, operation.signature),
    first && element('span', {className: 'quiet'}, first)));
}
