import {typeID} from './document.js';
import {element, pluralize} from './element.js';
import {write} from './json.js';
import {viewHash} from './route.js';

// Describes schemas for people: a value's type in words, and an example.

const deepest = 4; // for examples

/**
 * The properties of an object's schema. Those named in a signature such as "Add(x int, y int) (sum int)" come in its
 * order, which JSON does not keep.
 * @returns {{name: string, required: boolean, schema: Object}[]}
 */
export function fields({schema, follow}, signature = '') {
  const position = ({name}) => Math.max(signature.indexOf(`(${name} `), signature.indexOf(`, ${name} `));
  return Object.entries(schema.properties || {})
    .map(([name, property]) => ({
      name,
      required: (schema.required || []).includes(name),
      schema: follow(property),
    }))
    .sort((a, b) => position(a) - position(b));
}

/**
 * The variants of a union, told apart by a member, whose values name them; none for any other schema.
 * @returns {{name: string, schema: Object}[]}
 */
export function variants({schema, follow}) {
  const {discriminator, oneOf = []} = schema;
  return discriminator
    ? oneOf.map((one) => {
        const variant = follow(one);
        const name = variant.schema.properties?.[discriminator.propertyName]?.enum?.[0] ?? variant.name;
        return {name, schema: variant};
      })
    : [];
}

/** Says what a value is: "integer (int64)", "array of Point". */
export function typeText({name, schema, follow}) {
  if (schema.enum) {
    return schema.enum.map(write).join(' | ');
  }
  if (name) {
    // it may contain itself
    return name;
  }
  if (schema.type === 'array') {
    return `array of ${typeText(follow(schema.items))}`;
  }
  if (schema.type === 'object' && isMap(schema)) {
    return `map of ${typeText(follow(schema.additionalProperties))}`;
  }
  for (const [key, joint] of [
    ['oneOf', ' or '],
    ['anyOf', ' or '],
    ['allOf', ' and '],
  ]) {
    if (schema[key]) {
      return schema[key].map((one) => typeText(follow(one))).join(joint);
    }
  }
  if (schema.format === 'binary') {
    return 'file';
  }
  const format = schema.format ? ` (${schema.format})` : '';
  return (schema.type || 'any') + format;
}

/** What typeText says, with links to the pages of types. */
export function typeView(schema) {
  const text = typeText(schema);
  const found = linked(schema);
  if (!found) {
    return [text];
  }
  const {host, name} = typeID(found.component);
  const at = text.lastIndexOf(found.name);
  return [text.slice(0, at), element('a', {href: viewHash('types', host, name)}, found.name), text.slice(at + found.name.length)];
}

/** The type that a schema, its items or its entries have; null for none. */
function linked(schema, depth = 0) {
  if (schema.schema.enum || depth > 4) {
    return null;
  }
  if (schema.component) {
    return schema;
  }
  const inner = schema.schema.items || (isMap(schema.schema) && schema.schema.additionalProperties);
  return inner ? linked(schema.follow(inner), depth + 1) : null;
}

/** Whether an object may have members of any name. */
export function isMap(schema) {
  return typeof schema.additionalProperties === 'object' && !schema.additionalProperties.not;
}

/** The other conditions of a schema, in words: ["at least 1", "at most 20 characters"]. */
export function limits({schema}) {
  const said = [
    schema.nullable && 'or null',
    schema.minimum !== undefined && `${schema.exclusiveMinimum ? 'more than' : 'at least'} ${schema.minimum}`,
    schema.maximum !== undefined && `${schema.exclusiveMaximum ? 'less than' : 'at most'} ${schema.maximum}`,
    schema.multipleOf !== undefined && `a multiple of ${schema.multipleOf}`,
    schema.minLength !== undefined && `at least ${pluralize(schema.minLength, 'character')}`,
    schema.maxLength !== undefined && `at most ${pluralize(schema.maxLength, 'character')}`,
    schema.pattern && `like ${schema.pattern}`,
    schema.minItems !== undefined && `at least ${pluralize(schema.minItems, 'item')}`,
    schema.maxItems !== undefined && `at most ${pluralize(schema.maxItems, 'item')}`,
    schema.uniqueItems && 'no item twice',
    schema.default !== undefined && `default ${write(schema.default)}`,
    schema.readOnly && 'only in results',
    schema.writeOnly && 'only in arguments',
    schema.deprecated && 'deprecated',
  ];
  return said.filter(Boolean);
}

/** A value that fits the schema, as a start for editing. What is within itself, or too deep, is left empty. */
export function example({name, schema, follow}, signature = '', within = []) {
  for (const sample of [schema.example, schema.default, schema.enum?.[0]]) {
    if (sample !== undefined) {
      return sample;
    }
  }
  const ends = within.length >= deepest || (name && within.includes(name));
  const inner = [...within, name];
  switch (schema.type) {
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 0, 0);
    case 'boolean':
      return false;
    case 'string':
      return schema.format === 'date-time' ? '2000-01-01T00:00:00Z' : '';
    case 'array':
      return ends ? [] : [example(follow(schema.items), '', inner)];
    default:
      return ends ? {} : exampleObject({schema, follow}, signature, inner);
  }
}

function exampleObject({schema, follow}, signature, within) {
  const choice = schema.oneOf?.[0] || schema.anyOf?.[0];
  if (choice) {
    return example(follow(choice), signature, within);
  }
  const members = fields({schema, follow}, signature).filter(({schema: property}) => !property.schema.readOnly);
  return Object.fromEntries(members.map(({name, schema: property}) => [name, example(property, '', within)]));
}

/**
 * Shows the members of an object one by one, anything else as a whole. Nested members are collapsed, and built only
 * when they are expanded: a schema may contain itself.
 */
export function schemaView(schema, signature = '') {
  const members = [...fields(schema, signature), ...variants(schema)];
  const rows = members.length > 0 ? members.map(memberView) : [memberView({name: '', required: false, schema})];
  return element('ul', {className: 'schema'}, ...rows);
}

/** Whether there is nothing to show, as for a function without arguments. */
export function isNothing({schema}) {
  const object = schema.type === 'object';
  const alternatives = schema.oneOf || schema.anyOf || schema.allOf || schema.enum || schema.not || schema.nullable;
  return object && !alternatives && !isMap(schema) && Object.keys(schema.properties || {}).length === 0;
}

/** One member: a line, which can be expanded if there is more inside. */
export function memberView({name, place, required, schema, description: own, deprecated}) {
  const outdated = deprecated && !schema.schema.deprecated && 'deprecated';
  const about = [place, required && place !== 'path' && 'required', ...limits(schema), outdated].filter(Boolean).join(', ');
  const line = [
    element('code', {className: 'name'}, name || '(the whole)'),
    element('code', {className: 'type'}, ...typeView(schema)),
    about && element('span', {className: 'quiet'}, about),
  ];
  const said = own || schema.schema.description;
  const description = said && element('p', {className: 'description'}, said);
  const inner = inside(schema, name !== '');
  if (!inner) {
    return element('li', {}, element('div', {className: 'member'}, ...line), description);
  }
  const details = element('details', {}, element('summary', {className: 'member'}, ...line));
  details.addEventListener('toggle', () => details.append(schemaView(inner)), {once: true});
  return element('li', {}, details, description);
}

/**
 * The schema whose members a line shows when expanded, null if there are none: of an object, or of an array's items.
 */
function inside(schema, named) {
  let within = schema;
  let deeper = named; // the whole has shown its own members already
  const passed = new Set(); // a type may be an array or a map of itself
  while (within.schema.type === 'array' || (within.schema.type === 'object' && isMap(within.schema))) {
    if (passed.has(within.schema)) {
      return null;
    }
    passed.add(within.schema);
    within = within.follow(within.schema.items || within.schema.additionalProperties);
    deeper = true;
  }
  return deeper && fields(within).length + variants(within).length > 0 ? within : null;
}
