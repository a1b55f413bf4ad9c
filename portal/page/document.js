import {write} from './json.js';

// Reads an OpenAPI document: services, by host, with their operations.


const methods = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options', 'trace'];

/**
 * Reads a document.
 * @returns {{host: string, description: string, operations: Object[]}[]} sorted by host
 */
export function readServices(description) {
  const services = new Map();
  const tags = new Map((description.tags || []).map((tag) => [tag.name, tag.description]));
  for (const [key, item] of Object.entries(description.paths || {})) {
    for (const method of methods.filter((name) => item[name])) {
      const operation = readOperation(description, key, method, item[method]);
      if (!services.has(operation.host)) {
        services.set(operation.host, {host: operation.host, description: tags.get(operation.host) || '', operations: []});
      }
      services.get(operation.host).operations.push(operation);
    }
  }
  const order = new Intl.Collator('en').compare; // made once: much faster than localeCompare
  const sorted = [...services.values()].sort((a, b) => order(a.host, b.host));
  for (const service of sorted) {
    service.operations.sort((a, b) => order(a.path, b.path) || methods.indexOf(a.method) - methods.indexOf(b.method));
  }
  return sorted;
}

/** Splits the key "/calculator.example:443/add". */
function readOperation(description, key, method, operation) {
  const [, host, port, path] = key.match(/^\/([^/:]*):?([^/]*)(.*)$/);
  const signature = operation.summary || '';
  const read = {
    id: `${method} ${key}`,
    host, port: port || '443', path, key, method,
    signature,
    web: !signature.includes('('), // "GET /home": a handler, whose arguments are unknown
    description: operation.description || '',
    deprecated: operation.deprecated === true,
    secured: (operation.security || []).length > 0,
    parameters: (operation.parameters || []).filter(counts).map((parameter) => readParameter(description, parameter)),
    body: bodyOf(description, operation.requestBody),
    responses: Object.entries(operation.responses || {}).map((entry) => readResponse(description, entry)),
    server: description.servers?.[0]?.url || '',
    fingerprint: fingerprint(description, operation),
  };
  read.text = [host, method, path, signature, read.description].join(' ').toLowerCase();
  return read;
}

/** OpenAPI ignores parameters for these headers; and a page cannot send cookies that it does not have. */
function counts({name, in: place}) {
  return place !== 'cookie' && !(place === 'header' && ['accept', 'authorization', 'content-type'].includes(name.toLowerCase()));
}

function readParameter(description, parameter) {
  return {
    name: parameter.name, place: parameter.in, required: parameter.required === true,
    description: parameter.description || '', deprecated: parameter.deprecated === true,
    schema: resolve(description, parameter.schema || contents(description, parameter)[0]?.schema.schema),
    json: Boolean(parameter.content),
  };
}

function bodyOf(description, requestBody) {
  return contents(description, requestBody)[0] || null;
}

function readResponse(description, [status, response]) {
  return {status, description: response.description || '', contents: contents(description, response)};
}

/** The possible bodies of a request or a response: [{type, schema}]. */
function contents(description, holder) {
  return Object.entries(holder?.content || {}).map(([type, {schema}]) => ({type, schema: resolve(description, schema)}));
}

/** Returns a schema that resolves references: {name, schema, follow}. */
export function resolve(description, schema) {
  const follow = (next) => resolve(description, next);
  const reference = schema?.$ref || (schema?.allOf?.length === 1 && schema.allOf[0].$ref);
  if (!reference) {
    return {name: '', schema: schema || {}, follow};
  }
  const component = reference.replace('#/components/schemas/', '');
  const name = component.replace(/^[^_]*_(?:\d+_)?/, ''); // without the host and the port
  return {name, schema: description.components?.schemas?.[component] || {}, follow};
}

/** A text that changes if the operation, or a schema that it uses, changes. */
export function fingerprint(description, operation) {
  const texts = [write(operation)];
  const known = new Set();
  for (const text of texts) { // grows during the loop
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (!known.has(name)) {
        known.add(name);
        texts.push(write(description.components?.schemas?.[name]) || '');
      }
    }
  }
  return texts.join('\n');
}
