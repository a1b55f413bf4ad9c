// What the page knows of an OpenAPI document: services, by host, with their operations.

const methods = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options', 'trace'];

// readServices returns [{host, description, operations}], sorted by host.
export function readServices(description) {
  const services = new Map();
  for (const [key, item] of Object.entries(description.paths || {})) {
    for (const method of methods.filter((name) => item[name])) {
      const operation = readOperation(description, key, method, item[method]);
      if (!services.has(operation.host)) {
        const tag = (description.tags || []).find(({name}) => name === operation.host);
        services.set(operation.host, {host: operation.host, description: tag?.description || '', operations: []});
      }
      services.get(operation.host).operations.push(operation);
    }
  }
  const sorted = [...services.values()].sort((a, b) => a.host.localeCompare(b.host));
  for (const service of sorted) {
    service.operations.sort((a, b) => a.path.localeCompare(b.path) || methods.indexOf(a.method) - methods.indexOf(b.method));
  }
  return sorted;
}

// readOperation takes the key "/calculator.example:443/add" apart.
function readOperation(description, key, method, operation) {
  const [, host, port, path] = key.match(/^\/([^/:]*):?([^/]*)(.*)$/);
  const ok = Object.entries(operation.responses || {}).find(([status]) => status.startsWith('2'));
  return {
    host, port, path, key, method,
    signature: operation.summary || '',
    web: !operation.summary?.includes('('), // "GET /home": a handler whose arguments nobody knows
    description: operation.description || '',
    secured: (operation.security || []).length > 0,
    parameters: (operation.parameters || []).map((parameter) => ({
      name: parameter.name, place: parameter.in, required: parameter.required === true,
      schema: resolve(description, parameter.schema || contentSchema(parameter)),
      json: Boolean(parameter.content),
    })),
    body: bodyOf(description, operation.requestBody),
    result: resolve(description, contentSchema(ok?.[1])),
    server: description.servers?.[0]?.url || '',
  };
}

function bodyOf(description, requestBody) {
  const type = Object.keys(requestBody?.content || {})[0];
  return type ? {type, schema: resolve(description, requestBody.content[type].schema)} : null;
}

function contentSchema(holder) {
  return Object.values(holder?.content || {})[0]?.schema;
}

// resolve returns a schema that finds others by reference: {name, schema, follow}.
function resolve(description, schema) {
  const follow = (next) => resolve(description, next);
  const reference = schema?.$ref || (schema?.allOf?.length === 1 && schema.allOf[0].$ref);
  if (!reference) {
    return {name: '', schema: schema || {}, follow};
  }
  const component = reference.replace('#/components/schemas/', '');
  const name = component.replace(/^[^_]*_\d+_/, ''); // without the host and the port
  return {name, schema: description.components?.schemas?.[component] || {}, follow};
}
