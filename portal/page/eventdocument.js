import {fingerprint, resolve, usedSchemas, usedStill} from './document.js';

// Reads an AsyncAPI document: events, by publisher, and who publishes and subscribes to them.

const read = new WeakMap(); // events by the channel of which they were made: {id, operations, used, event}
const converted = new WeakMap(); // schemas by those of which they were made

/**
 * Reads a document. An event stays the same object as long as all is the same that it is made of. Schemas are those of
 * OpenAPI, like those of operations.
 * @returns {Object[]} events, sorted by publisher and name
 */
export function readEvents(description) {
  const {components} = withConverted(description);
  const operations = new Map();
  for (const operation of Object.values(description.operations || {})) {
    const id = channelOf(operation.channel.$ref);
    if (!operations.has(id)) {
      operations.set(id, []);
    }
    operations.get(id).push(operation);
  }
  const order = new Intl.Collator('en').compare;
  return Object.entries(description.channels || {})
    .map(([id, channel]) => readChannel({components}, id, channel, operations.get(id) || []))
    .sort((a, b) => order(a.publisher, b.publisher) || order(a.name, b.name));
}

/** The schemas of a document in the notation of OpenAPI 3.0: {components}. */
export function withConverted(description) {
  const schemas = Object.entries(description.components?.schemas || {}).map(([name, schema]) => [name, convert(schema)]);
  return {components: {schemas: Object.fromEntries(schemas)}};
}

function convert(schema) {
  if (typeof schema !== 'object' || schema === null) {
    return schema;
  }
  if (!converted.has(schema)) {
    converted.set(schema, fromDraft07(schema));
  }
  return converted.get(schema);
}

function readChannel(description, id, channel, operations) {
  const known = read.get(channel);
  const same =
    known &&
    known.id === id &&
    known.operations.length === operations.length &&
    known.operations.every((one, at) => one === operations[at]);
  if (same && usedStill(description, known.used)) {
    return known.event;
  }
  const used = usedSchemas(description, channel);
  const event = readEvent({components: {schemas: Object.fromEntries(used)}}, id, channel, operations);
  read.set(channel, {id, operations, used, event});
  return event;
}

function readEvent(description, id, channel, operations) {
  const at = id.indexOf('/');
  const [message] = Object.values(channel.messages);
  const of = (action) => operations.filter((operation) => operation.action === action);
  const entry = {
    id,
    publisher: id.slice(0, at),
    name: id.slice(at + 1),
    signature: channel.summary || '',
    description: channel.description || '',
    about: channel.tags?.[0]?.description || '',
    subject: channel.address || '',
    key: channel['x-key'] || '',
    durable: channel['x-durable'] === true,
    type: message.contentType || 'application/json',
    payload: message.payload ? resolve(description, fromDraft07(message.payload)) : null,
    example: message.examples?.[0]?.payload,
    publishers: of('send').map((operation) => operation['x-service']),
    subscribers: of('receive').map((operation) => ({
      service: operation['x-service'],
      durable: operation['x-durable'] === true,
      queue: operation.bindings?.nats?.queue || '',
    })),
    get fingerprint() {
      return fingerprint(description, [channel, operations]);
    },
  };
  return entry;
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
  const {type, examples, exclusiveMinimum, exclusiveMaximum, anyOf, contentEncoding, discriminator, ...rest} = schema;
  const converted = fromConstants(rest);
  const types = [type].flat().filter((one) => one && one !== 'null');
  const alternatives = anyOf?.filter((one) => one.type !== 'null');
  const nullable = types.length < [type].flat().filter(Boolean).length || alternatives?.length < anyOf?.length;
  Object.assign(
    converted,
    types.length === 1 && {type: types[0]},
    examples && {example: examples[0]},
    nullable && {nullable: true},
    typeof exclusiveMinimum === 'number' && {minimum: exclusiveMinimum, exclusiveMinimum: true},
    typeof exclusiveMaximum === 'number' && {maximum: exclusiveMaximum, exclusiveMaximum: true},
    contentEncoding === 'base64' && {format: 'byte'},
    discriminator && {discriminator: {propertyName: discriminator}},
    schema.enum && nullable && {enum: schema.enum.filter((one) => one !== null)},
  );
  if (alternatives) {
    converted[alternatives.length === 1 ? 'allOf' : 'anyOf'] = alternatives;
  }
  for (const key of ['items', 'additionalProperties', 'not']) {
    if (converted[key]) {
      converted[key] = fromDraft07(converted[key]);
    }
  }
  for (const key of ['allOf', 'anyOf', 'oneOf']) {
    converted[key] &&= converted[key].map(fromDraft07);
  }
  if (converted.properties) {
    converted.properties = Object.fromEntries(
      Object.entries(converted.properties).map(([name, property]) => [name, fromDraft07(property)]),
    );
  }
  return converted;
}

/** The values of an enum that a schema has as constants, with names and descriptions. */
function fromConstants({const: value, oneOf, ...rest}) {
  const constants = oneOf?.filter((one) => 'const' in one);
  if (value !== undefined) {
    return {...rest, ...(oneOf && {oneOf}), enum: [value]};
  }
  if (!constants?.length) {
    return {...rest, ...(oneOf && {oneOf})};
  }
  const described = constants.filter((one) => one.description).map((one) => [one.const, one.description]);
  return {
    ...rest,
    enum: constants.map((one) => one.const),
    ...(constants.every((one) => one.title) && {'x-enum-varnames': constants.map((one) => one.title)}),
    ...(described.length > 0 && {'x-enumDescriptions': Object.fromEntries(described)}),
  };
}

/**
 * Adds to each service the events that it publishes, and those to which it subscribes. Services that have only events
 * come in as well.
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
    for (const {service} of event.subscribers) {
      of(service).subscriptions.push(event);
    }
  }
  const order = new Intl.Collator('en').compare;
  return [...all.values()].sort((a, b) => order(a.host, b.host));
}
