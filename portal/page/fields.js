import {element, newID} from './element.js';
import {isJSON, objectText, treeText, write} from './json.js';
import {arrayField, legend, mapField} from './rows.js';
import {example, fields, isMap, limits, typeText} from './schema.js';
import {unionField} from './union.js';

const deepest = 3; // nested objects; deeper values are typed as JSON

// A field is {node, text(), fill(tree), mark(path, detail)}: text returns the JSON of what was typed, undefined if
// nothing was; fill shows JSON given as a tree, undefined for nothing, and returns whether the field can show all of
// it; mark shows a error that the service reports. An invalid value is sent anyway: people want to see what the service
// says.

/** Makes the field of a value. */
export function fieldFor(name, schema, {required = false, depth = 0, within = []} = {}) {
  const {type} = schema.schema;
  const choices = type === 'boolean' ? [true, false] : schema.schema.enum;
  if (choices) {
    return choiceField(name, schema, choices, required);
  }
  if (type === 'integer' || type === 'number') {
    return numberField(name, schema, required);
  }
  if (type === 'string') {
    return stringField(name, schema, required);
  }
  const inner = {required, depth: depth + 1, within: schema.name ? [...within, schema.name] : within};
  const deep = depth >= deepest || within.includes(schema.name); // or contains itself
  if (type === 'array' && !deep) {
    return arrayField(name, schema, (items) => fieldFor('', items, {...inner, required: true}));
  }
  if (schema.schema.discriminator && !deep) {
    return unionField(name, schema, inner);
  }
  if (type === 'object' && !deep) {
    return isMap(schema.schema)
      ? mapField(name, schema, (values) => fieldFor('', values, {...inner, required: true}))
      : objectField(name, schema, inner);
  }
  return anyField(name, schema, required);
}

function choiceField(name, schema, choices, required) {
  const texts = choices.map(write);
  const input = element(
    'select',
    {},
    element('option', {value: ''}, '(not sent)'),
    ...texts.map((text, at) => element('option', {value: text}, choiceText(schema, choices[at], at))),
  );
  input.value = write(schema.schema.example ?? schema.schema.default) ?? '';
  input.selectedIndex = Math.max(0, input.selectedIndex);
  return oneInput(name, schema, required, input, {
    text: () => input.value || undefined,
    fill: (tree) => {
      const text = tree ? treeText(tree) : '';
      input.value = texts.includes(text) ? text : '';
      return input.value === text;
    },
  });
}

/** A choice, with the name that a number has: "1 (Small)". */
export function choiceText({schema}, choice, at) {
  const name = schema['x-enum-varnames']?.[at];
  return name ? `${choice} (${name})` : String(choice);
}

function numberField(name, schema, required) {
  const input = textInput(schema, schema.schema.type === 'integer' ? 'numeric' : 'decimal');
  const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
  return oneInput(name, schema, required, input, {
    text: () => {
      const typed = input.value.trim();
      return typed === '' ? undefined : number.test(typed) ? typed : JSON.stringify(typed);
    },
    fill: (tree) => {
      const fits = tree?.kind === 'word' && number.test(tree.text);
      input.value = fits ? tree.text : '';
      return fits || !tree;
    },
  });
}

function stringField(name, schema, required) {
  const input = textInput(schema, 'text');
  return oneInput(name, schema, required, input, {
    text: () => (input.value === '' && !required ? undefined : JSON.stringify(input.value)),
    fill: (tree) => {
      const fits = tree?.kind === 'string' && (tree.value !== '' || required) && !tree.value.includes('\n');
      input.value = fits ? tree.value : '';
      return fits || !tree;
    },
  });
}

/** For a value of any type, or one nested too deep for a form. */
function anyField(name, schema, required) {
  const input = element('textarea', {rows: 2, spellcheck: false, placeholder: write(example(schema))});
  return oneInput(name, schema, required, input, {
    hint: 'as JSON',
    text: () => {
      const typed = input.value.trim();
      return typed === '' ? undefined : isJSON(typed) ? typed : JSON.stringify(typed);
    },
    fill: (tree) => {
      input.value = tree ? treeText(tree) : '';
      return true;
    },
  });
}

function objectField(name, schema, {required, ...inner}) {
  const members = fields(schema).map((member) => [
    member.name,
    fieldFor(member.name, member.schema, {...inner, required: member.required}),
  ]);
  const node = element('fieldset', {}, legend(name, schema), ...members.map(([, field]) => field.node));
  return {node, ...membersOf(members, required)};
}

/** What fields for the members of an object have in common. */
export function membersOf(members, required) {
  const byName = new Map(members);
  return {
    text: () => {
      const texts = members.map(([name, field]) => [name, field.text()]).filter(([, text]) => text !== undefined);
      return texts.length === 0 && !required ? undefined : objectText(texts);
    },
    fill: (tree) => {
      const trees = new Map(tree?.kind === 'object' ? tree.members : []);
      const known = !tree || (tree.kind === 'object' && tree.members.every(([name]) => byName.has(name)));
      return members.map(([name, field]) => field.fill(trees.get(name))).every(Boolean) && known;
    },
    mark: ([first, ...rest], detail) => Boolean(byName.get(first)?.mark(rest, detail)),
  };
}

function textInput({schema, follow}, inputMode) {
  const initial = schema.example ?? schema.default;
  const sample = example({schema, follow});
  return element('input', {
    type: 'text',
    inputMode,
    spellcheck: false,
    autocomplete: 'off',
    value: initial === undefined ? '' : String(initial),
    placeholder: sample === '' ? '' : String(sample),
  });
}

/** A field with one input: its label, what it accepts, and its error. */
export function oneInput(name, schema, required, input, {text, fill, hint}) {
  const error = element('span', {className: 'error', id: newID('error')});
  input.id = newID('field');
  input.setAttribute('aria-describedby', error.id);
  if (required && name) {
    input.setAttribute('aria-required', 'true');
  }
  input.addEventListener('input', () => {
    error.textContent = '';
    input.removeAttribute('aria-invalid');
  });
  const about = [typeText(schema), hint, required && name && 'required', ...limits(schema)].filter(Boolean).join(', ');
  const label = element(
    'label',
    {htmlFor: input.id},
    name && element('code', {}, name),
    ' ',
    element('span', {className: name ? 'quiet' : 'visually-hidden'}, about),
  );
  if (name) {
    input.name = name;
  }
  return {
    node: element('div', {className: 'field'}, label, input, error),
    input,
    text,
    fill,
    mark: (path, detail) => {
      error.textContent = [path.join('.').replaceAll('.[', '['), detail].filter(Boolean).join(' ');
      input.setAttribute('aria-invalid', 'true');
      return true;
    },
  };
}
