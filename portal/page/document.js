import {write} from './json.js';

// Reads an OpenAPI document: services, by host, with their operations.

const read = new WeakMap(); // operations by the path item of which they were made: {key, server, places, used, operations}

const methods = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options', 'trace'];

/**
 * Reads a document. An operation stays the same object as long as its path item, and all schemas that it uses, are the
 * same objects.
 * @returns {{host: string, description: string, operations: Object[], places: string[]}[]} sorted by host
 */
export function readServices(description) {
  const services = new Map();
  const tags = new Map((description.tags || []).map((tag) => [tag.name, tag.description]));
  const all = description['x-public-places'] || {};
  for (const [key, item] of Object.entries(description.paths || {})) {
    for (const operation of readItem(description, key, item, all[key] || [])) {
      if (!services.has(operation.host)) {
        const {host} = operation;
        services.set(host, {host, description: tags.get(host) || '', operations: [], places: placesOf(description, host)});
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

function readItem(description, key, item, places) {
  const server = description.servers?.[0]?.url || '';
  const known = read.get(item);
  if (
    known &&
    known.key === key &&
    known.server === server &&
    known.places.join() === places.join() &&
    usedStill(description, known.used)
  ) {
    return known.operations;
  }
  const used = usedSchemas(description, item);
  const part = {servers: description.servers, places, components: {schemas: Object.fromEntries(used)}}; // so that no operation holds a whole document
  const operations = methods.filter((name) => item[name]).map((method) => readOperation(part, key, method, item[method]));
  read.set(item, {key, server, places, used, operations});
  return operations;
}

/** The public paths of a host, such as "/shop". */
function placesOf(description, host) {
  const all = Object.entries(description['x-public-paths'] || {});
  return all.flatMap(([path, target]) => (target.startsWith(`https://${host}:`) ? [path] : []));
}

/** The schemas that a part of a document uses, by name, also through others; undefined for those that do not exist. */
export function usedSchemas(description, part) {
  const used = new Map();
  const names = [...namesIn(part)];
  for (const name of names) {
    // grows during the loop
    if (!used.has(name)) {
      const schema = description.components?.schemas?.[name];
      used.set(name, schema);
      names.push(...namesIn(schema));
    }
  }
  return used;
}

/** Reports whether a document has the same schemas still. */
export function usedStill(description, used) {
  return [...used].every(([name, schema]) => description.components?.schemas?.[name] === schema);
}

const named = new WeakMap(); // the names of the schemas to which a part of a document refers by itself

/** The names of the schemas to which a part of a document refers by itself. */
export function namesIn(part) {
  if (!isObject(part)) {
    return [];
  }
  if (!named.has(part)) {
    const names = new Set();
    collectNames(part, names);
    named.set(part, names);
  }
  return named.get(part);
}

function collectNames(part, names) {
  for (const [key, value] of Object.entries(part)) {
    if (isObject(value)) {
      collectNames(value, names);
    } else if (key === '$ref' && typeof value === 'string') {
      names.add(value.replace('#/components/schemas/', ''));
    }
  }
}

function isObject(part) {
  return typeof part === 'object' && part !== null;
}

/** Splits the key "/calculator.example:443/add". */
function readOperation(description, key, method, operation) {
  const [, host, port, path] = key.match(/^\/([^/:]*):?([^/]*)(.*)$/);
  const signature = operation.summary || '';
  const entry = {
    id: `${method} ${key}`,
    host,
    port: port || '443',
    path,
    key,
    method,
    signature,
    name: nameOf(operation.operationId || '', host, port),
    streams: streams(operation.responses),
    web: !signature.includes('('), // "GET /home": a handler, whose arguments are unknown
    description: operation.description || '',
    deprecated: operation.deprecated === true,
    secured: (operation.security || []).length > 0,
    callers: operation['x-callers'] || [],
    parameters: (operation.parameters || []).filter(counts).map((parameter) => readParameter(description, parameter)),
    body: bodyOf(description, operation.requestBody),
    responses: Object.entries(operation.responses || {}).map((entry) => readResponse(description, entry)),
    server: description.servers?.[0]?.url || '',
    places: description.places,
    get fingerprint() {
      return fingerprint(description, operation);
    },
  };
  return entry;
}

/** The name of an operation as its service gave it, "" for none. */
function nameOf(id, host, port) {
  const prefix = `${host}_${port || '443'}_`;
  return id.startsWith(prefix) ? id.slice(prefix.length) : id;
}

/** Whether an operation answers with a stream of elements. */
function streams(responses = {}) {
  return Object.entries(responses).some(([status, {content}]) => status.startsWith('2') && Boolean(content?.['application/x-ndjson']));
}

/** OpenAPI ignores parameters for these headers; and a page cannot send cookies that it does not have. */
function counts({name, in: place}) {
  return place !== 'cookie' && !(place === 'header' && ['accept', 'authorization', 'content-type'].includes(name.toLowerCase()));
}

function readParameter(description, parameter) {
  return {
    name: parameter.name,
    place: parameter.in,
    required: parameter.required === true,
    description: parameter.description || '',
    deprecated: parameter.deprecated === true,
    schema: resolve(description, parameter.schema || contents(description, parameter)[0]?.schema.schema),
    json: Boolean(parameter.content),
  };
}

export const multipart = 'multipart/form-data';

/** Whether a body of this type is a form of HTML, with files or without. */
export function isForm(type) {
  return type === multipart || type === 'application/x-www-form-urlencoded';
}

function bodyOf(description, requestBody) {
  const all = contents(description, requestBody);
  return all.find(({type}) => isForm(type)) || all[0] || null;
}

function readResponse(description, [status, response]) {
  return {status, description: response.description || '', contents: contents(description, response)};
}

/** The possible bodies of a request or a response: [{type, schema, encoding}]. */
function contents(description, holder) {
  return Object.entries(holder?.content || {}).map(([type, {schema, encoding = {}}]) => ({
    type,
    schema: resolve(description, schema),
    encoding,
  }));
}

/** Returns a schema that resolves references: {name, component, schema, follow}; name and component are "" for one without. */
export function resolve(description, schema) {
  const follow = (next) => resolve(description, next);
  const reference = schema?.$ref || (schema?.allOf?.length === 1 && schema.allOf[0].$ref);
  if (!reference) {
    return {name: '', component: '', schema: schema || {}, follow};
  }
  const component = reference.replace('#/components/schemas/', '');
  const name = component.replace(/^[^_]*_(?:\d+_)?/, ''); // without the host and the port
  return {name, component, schema: description.components?.schemas?.[component] || {}, follow};
}

/** The type that a component is: {id, host, name}; a port other than 443 is part of the name. */
export function typeID(component) {
  const [, host, rest] = component.match(/^([^_]*)_(.*)$/) || ['', '', component];
  const name = rest.replace(/^443_/, '');
  return {id: `${host}/${name}`, host, name};
}

/** The types of a document, by id: {id, host, name, isType, schema, text}; text changes with the schema. */
export function readTypes(description) {
  const types = new Map();
  for (const [component, schema] of Object.entries(description.components?.schemas || {})) {
    const {id, host, name} = typeID(component);
    const resolved = resolve(description, {$ref: `#/components/schemas/${component}`});
    types.set(id, {id, host, name, isType: true, schema: resolved, text: write(schema)});
  }
  return types;
}

/** A text that changes if the operation, or a schema that it uses, changes. */
export function fingerprint(description, operation) {
  const texts = [write(operation)];
  const known = new Set();
  for (const text of texts) {
    // grows during the loop
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (!known.has(name)) {
        known.add(name);
        texts.push(write(description.components?.schemas?.[name]) || '');
      }
    }
  }
  return texts.join('\n');
}
