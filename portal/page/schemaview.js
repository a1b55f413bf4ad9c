import {element} from './element.js';
import {fields, isMap, limits, typeText} from './schema.js';

/**
 * Shows the members of an object one by one, anything else as a whole. Nested members are collapsed, and built only
 * when they are expanded: a schema may contain itself.
 */
export function schemaView(schema, signature = '') {
  const members = fields(schema, signature);
  const rows = members.length > 0 ? members.map(memberView) : [memberView({name: '', required: false, schema})];
  return element('ul', {className: 'schema'}, ...rows);
}

/** Whether there is nothing to show, as for a function without arguments. */
export function isNothing({schema}) {
  const object = !schema.type || schema.type === 'object';
  const alternatives = schema.oneOf || schema.anyOf || schema.allOf || schema.enum || schema.not || schema.nullable;
  return object && !alternatives && !isMap(schema) && Object.keys(schema.properties || {}).length === 0;
}

/** One member: a line, which can be expanded if there is more inside. */
export function memberView({name, place, required, schema, description: own, deprecated}) {
  const outdated = deprecated && !schema.schema.deprecated && 'deprecated';
  const about = [place, required && place !== 'path' && 'required', ...limits(schema), outdated].filter(Boolean).join(', ');
  const line = [
    element('code', {className: 'name'}, name || '(the whole)'),
    element('code', {className: 'type'}, typeText(schema)),
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
  return deeper && fields(within).length > 0 ? within : null;
}
