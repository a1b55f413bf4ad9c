// Schemas for people: what a value looks like in words, and an example of one.

const deepest = 4; // of an example; schemas may contain themselves

// fields returns the properties of an object's schema as [{name, required, schema}]. Those that a signature such as
// "Add(x int, y int) (sum int)" names come in its order, which JSON does not keep.
export function fields({schema, follow}, signature = '') {
  const position = ({name}) => Math.max(signature.indexOf(`(${name} `), signature.indexOf(`, ${name} `));
  return Object.entries(schema.properties || {}).map(([name, property]) => ({
    name, required: (schema.required || []).includes(name), schema: follow(property),
  })).sort((a, b) => position(a) - position(b));
}

// typeText says what a value is: "integer (int64)", "array of Point".
export function typeText({name, schema, follow}) {
  if (schema.enum) {
    return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  }
  if (name) { // which may contain itself
    return name;
  }
  if (schema.type === 'array') {
    return `array of ${typeText(follow(schema.items))}`;
  }
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object') {
    return `map of ${typeText(follow(schema.additionalProperties))}`;
  }
  const format = schema.format ? ` (${schema.format})` : '';
  return (schema.type || 'any') + format;
}

// example returns a value that fits the schema, as a start to type over.
export function example({schema, follow}, signature = '', depth = 0) {
  for (const given of [schema.example, schema.default, schema.enum?.[0]]) {
    if (given !== undefined) {
      return given;
    }
  }
  switch (schema.type) {
    case 'integer':
    case 'number':
      return schema.minimum > 0 ? schema.minimum : 0;
    case 'boolean':
      return false;
    case 'string':
      return schema.format === 'date-time' ? '2000-01-01T00:00:00Z' : '';
    case 'array':
      return depth < deepest ? [example(follow(schema.items), '', depth + 1)] : [];
    default:
      return exampleObject({schema, follow}, signature, depth);
  }
}

function exampleObject({schema, follow}, signature, depth) {
  const members = depth < deepest ? fields({schema, follow}, signature) : [];
  return Object.fromEntries(members.map(({name, schema: property}) => [name, example(property, '', depth + 1)]));
}
