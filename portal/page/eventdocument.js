import {fingerprint, resolve} from './document.js';

// Reads an AsyncAPI document: events, by publisher, and who publishes and subscribes to them.

/**
 * Reads a document. Schemas are those of OpenAPI, like those of operations.
 * @returns {Object[]} events, sorted by publisher and name
 */
export function readEvents(description) {
  const schemas = Object.entries(description.components?.schemas || {}).map(([name, schema]) => [name, fromDraft07(schema)]);
  const converted = {...description, components: {schemas: Object.fromEntries(schemas)}};
  const operations = new Map();
  for (const operation of Object.values(description.operations || {})) {
    const id = channelOf(operation.channel.$ref);
    operations.set(id, [...operations.get(id) || [], operation]);
  }
  const order = new Intl.Collator('en').compare;
  return Object.entries(description.channels || {}).map(([id, channel]) => readEvent(converted, id, channel, operations.get(id) || []))
    .sort((a, b) => order(a.publisher, b.publisher) || order(a.name, b.name));
}

function readEvent(description, id, channel, operations) {
  const at = id.indexOf('/');
  const [message] = Object.values(channel.messages);
  const of = (action) => operations.filter((operation) => operation.action === action);
  const read = {
    id, publisher: id.slice(0, at), name: id.slice(at + 1),
    signature: channel.summary || '', description: channel.description || '', about: channel.tags?.[0]?.description || '',
    subject: channel.address || '', key: channel['x-key'] || '', durable: channel['x-durable'] === true,
    type: message.contentType || 'application/json',
    payload: message.payload ? resolve(description, fromDraft07(message.payload)) : null,
    example: message.examples?.[0]?.payload,
    publishers: of('send').map((operation) => operation['x-service']),
    subscribers: of('receive').map((operation) => ({service: operation['x-service'], durable: operation['x-durable'] === true, queue: operation.bindings?.nats?.queue || ''})),
    fingerprint: fingerprint(description, [channel, operations]),
  };
  read.text = ['event', id, read.signature, read.description].join(' ').toLowerCase();
  return read;
}

/** "orders.example/on-ordered" of "#/channels/orders.example~1on-ordered". */
function channelOf(reference) {
  return reference.replace('#/channels/', '').replaceAll('~1', '/').replaceAll('~0', '~');
}

/** A schema in the notation of OpenAPI 3.0, from that of JSON Schema Draft 07. */
function fromDraft07(schema) {
  if (typeof schema !== 'object' || schema === null || schema.$ref) {
    return schema;
  }
  const {type, examples, exclusiveMinimum, exclusiveMaximum, anyOf, ...made} = schema;
  const types = [type].flat().filter((one) => one && one !== 'null');
  const alternatives = anyOf?.filter((one) => one.type !== 'null');
  const nullable = types.length < [type].flat().filter(Boolean).length || alternatives?.length < anyOf?.length;
  Object.assign(made, types.length === 1 && {type: types[0]}, examples && {example: examples[0]}, nullable && {nullable: true},
    typeof exclusiveMinimum === 'number' && {minimum: exclusiveMinimum, exclusiveMinimum: true},
    typeof exclusiveMaximum === 'number' && {maximum: exclusiveMaximum, exclusiveMaximum: true},
    schema.enum && nullable && {enum: schema.enum.filter((one) => one !== null)});
  if (alternatives) {
    made[alternatives.length === 1 ? 'allOf' : 'anyOf'] = alternatives;
  }
  for (const key of ['items', 'additionalProperties', 'not']) {
    if (made[key]) {
      made[key] = fromDraft07(made[key]);
    }
  }
  for (const key of ['allOf', 'anyOf', 'oneOf']) {
    made[key] &&= made[key].map(fromDraft07);
  }
  if (made.properties) {
    made.properties = Object.fromEntries(Object.entries(made.properties).map(([name, property]) => [name, fromDraft07(property)]));
  }
  return made;
}

/**
 * Adds to each service the events that it publishes, and those to which it subscribes. Services that have only events come in as well.
 */
export function withEvents(services, events) {
  const all = new Map(services.map((service) => [service.host, {...service, events: [], subscriptions: []}]));
  const of = (host) => {
    if (!all.has(host)) {
      all.set(host, {host, description: '', operations: [], events: [], subscriptions: []});
    }
    return all.get(host);
  };
  for (const event of events) {
    const publisher = of(event.publisher);
    publisher.events.push(event);
    publisher.description ||= event.about;
    event.subscribers.forEach(({service}) => of(service).subscriptions.push(event));
  }
  const order = new Intl.Collator('en').compare;
  return [...all.values()].sort((a, b) => order(a.host, b.host));
}
