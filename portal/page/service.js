import {element} from './element.js';
import {fields, typeText} from './schema.js';
import {trialView} from './trial.js';

// serviceView shows a service: {section, operations: [{node, section, text}]}.
export function serviceView(service) {
  const section = element('section', {},
    element('h2', {}, service.host),
    service.description && element('p', {className: 'description'}, service.description));
  const operations = service.operations.map((operation) => {
    const node = operationView(operation);
    section.append(node);
    const text = [operation.host, operation.method, operation.path, operation.signature, operation.description];
    return {node, section, text: text.join(' ').toLowerCase()};
  });
  return {section, operations};
}

// operationView shows an operation as one line that opens. What is inside is made when it is opened for the first time.
function operationView(operation) {
  const port = operation.port === '443' ? '' : `:${operation.port}`;
  const node = element('details', {className: 'operation'},
    element('summary', {},
      element('span', {className: `method ${operation.method}`}, operation.method.toUpperCase()),
      element('code', {className: 'path'}, port + operation.path),
      operation.web ? '' : element('code', {className: 'signature'}, operation.signature),
      operation.secured ? element('span', {className: 'quiet'}, 'token') : ''));
  node.addEventListener('toggle', () => node.append(...details(operation)), {once: true});
  return node;
}

function details(operation) {
  const {description, parameters, body, result, signature} = operation;
  const argumentRows = parameters.map((parameter) => row(parameter, parameter.place));
  if (body) {
    argumentRows.push(...rowsOf(body.schema, 'body', signature));
  }
  return [
    description && element('p', {className: 'description'}, description),
    table('Arguments', argumentRows),
    table('Results', rowsOf(result, '', signature)),
    trialView(operation),
  ].filter(Boolean);
}

// rowsOf shows the fields of an object one by one, anything else as a whole, and nothing where there is nothing.
function rowsOf(schema, place, signature) {
  const inside = fields(schema, signature);
  if (inside.length > 0) {
    return inside.map((field) => row(field, place));
  }
  const {type, additionalProperties} = schema.schema;
  const nothing = !type || (type === 'object' && !additionalProperties);
  return nothing ? [] : [row({name: '', required: false, schema}, place)];
}

function table(caption, rows) {
  return rows.length === 0 ? null : element('table', {}, element('caption', {}, caption), element('tbody', {}, ...rows));
}

function row({name, required, schema}, place) {
  const marks = [place, required && place !== 'path' ? 'required' : ''].filter(Boolean).join(', ');
  return element('tr', {},
    element('th', {scope: 'row'}, name ? element('code', {}, name) : element('em', {}, 'the whole')),
    element('td', {}, element('code', {}, typeText(schema))),
    element('td', {className: 'quiet'}, marks),
    element('td', {}, schema.schema.description || ''));
}
