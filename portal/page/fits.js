import {pluralize} from './element.js';
import {treeText} from './json.js';
import {fields, isMap, variants} from './schema.js';

// Whether JSON fits its schema.

const mostSaid = 20;
const deepest = 64;

/** What of a tree, as parseTree returns it, does not fit a schema: sentences, at most some. */
export function misfits(tree, schema) {
  const said = [];
  try {
    check(tree, schema, [], (path, text) => said.length < mostSaid && said.push(`${path.join('.') || 'the body'}: ${text}`));
  } catch {
    said.push('the schema is within itself, or the body is too deep to be checked'); // for the stack of the browser
  }
  return said;
}

function check(tree, schema, path, say) {
  const {enum: values, nullable, allOf = [], oneOf, anyOf} = schema.schema;
  if (path.length > deepest || (isNull(tree) && (nullable || values?.includes(null)))) {
    return;
  }
  for (const one of allOf) {
    check(tree, schema.follow(one), path, say);
  }
  if (oneOf || anyOf) {
    checkOneOf(tree, schema, path, say);
  } else if (values && !values.some((one) => JSON.stringify(one) === treeText(tree))) {
    say(path, `${treeText(tree).slice(0, 60)} is none of ${values.map((one) => JSON.stringify(one)).join(', ')}`);
  } else {
    checkType(tree, schema, path, say);
  }
}

function fits(tree, schema) {
  let good = true;
  check(tree, schema, [], () => {
    good = false;
  });
  return good;
}

function isNull({kind, text}) {
  return kind === 'word' && text === 'null';
}

function checkOneOf(tree, schema, path, say) {
  const {discriminator, oneOf, anyOf} = schema.schema;
  const [, named] = tree.members?.find(([name]) => name === discriminator?.propertyName) || [];
  const variant = named && variants(schema).find(({name}) => name === named.value);
  if (variant) {
    check(tree, variant.schema, path, say);
  } else if (!(oneOf || anyOf).some((one) => fits(tree, schema.follow(one)))) {
    say(path, 'it is none of the variants');
  }
}

const checks = {
  string: ({kind, value}, schema, path, say) => (kind === 'string' ? checkText(value, schema, path, say) : say(path, 'it is no text')),
  boolean: ({text}, _, path, say) => /^(?:true|false)$/.test(text) || say(path, 'it is neither true nor false'),
  integer: (tree, schema, path, say) =>
    /^-?\d+$/.test(tree.text) ? checkNumber(tree, schema, path, say) : say(path, 'it is no whole number'),
  number: (tree, schema, path, say) => (/^-?\d/.test(tree.text) ? checkNumber(tree, schema, path, say) : say(path, 'it is no number')),
  array: checkArray,
  object: checkObject,
};

function checkType(tree, schema, path, say) {
  checks[schema.schema.type]?.(tree, schema, path, say);
}

function checkText(value, {schema: {minLength, maxLength, pattern}}, path, say) {
  const length = [...value].length;
  if (length < minLength || length > maxLength) {
    say(
      path,
      `it has ${pluralize(length, 'character')}, ${length < minLength ? `at least ${minLength}` : `at most ${maxLength}`} are allowed`,
    );
  }
  if (pattern && expression(pattern)?.test(value) === false) {
    say(path, `it is not like ${pattern}`);
  }
}

function expression(pattern) {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return null;
  }
}

function checkNumber({text}, {schema: {minimum, maximum, exclusiveMinimum, exclusiveMaximum}}, path, say) {
  const value = Number(text);
  if (value < minimum || (exclusiveMinimum && value === minimum) || value > maximum || (exclusiveMaximum && value === maximum)) {
    say(path, `${text} is out of range`);
  }
}

function checkArray({kind, items}, schema, path, say) {
  const {minItems, maxItems, items: of} = schema.schema;
  if (kind !== 'array') {
    say(path, 'it is no array');
    return;
  }
  if (items.length < minItems || items.length > maxItems) {
    say(
      path,
      `it has ${pluralize(items.length, 'item')}, ${items.length < minItems ? `at least ${minItems}` : `at most ${maxItems}`} are allowed`,
    );
  }
  if (of) {
    const item = schema.follow(of);
    for (const [at, one] of items.entries()) {
      check(one, item, [...path, String(at)], say);
    }
  }
}

function checkObject({kind, members}, schema, path, say) {
  if (kind !== 'object') {
    say(path, 'it is no object');
    return;
  }
  const given = new Map(members);
  const known = new Map(fields(schema).map((field) => [field.name, field]));
  for (const {name, required} of known.values()) {
    if (required && !given.has(name)) {
      say([...path, name], 'it is missing');
    }
  }
  for (const [name, value] of given) {
    if (known.has(name)) {
      check(value, known.get(name).schema, [...path, name], say);
    } else if (isMap(schema.schema)) {
      check(value, schema.follow(schema.schema.additionalProperties), [...path, name], say);
    } else if (known.size > 0 && !schema.schema.additionalProperties) {
      say([...path, name], 'the schema does not have it');
    }
  }
}
