import {element} from './element.js';
import {oneInput} from './fields.js';
import {example} from './schema.js';

/** The field of a parameter in the path or the query: {node, value, take(other), mark(path, detail)}. */
export function parameterField(parameter) {
  const {name, place, required, json, schema} = parameter;
  const choices = schema.schema.type === 'boolean' ? [true, false] : schema.schema.enum;
  const input = choices ? selectFor(choices, required) : inputFor(schema, place);
  const hint = json ? `${place}, as JSON` : place;
  const field = oneInput(name, schema, required && place !== 'path', input, {hint});
  return {
    node: field.node, mark: field.mark,
    get value() {
      return input.value;
    },
    take: (value) => {
      input.value = value;
    },
  };
}

function selectFor(choices, required) {
  const none = required ? [] : [element('option', {value: ''}, '(not sent)')];
  return element('select', {required}, ...none, ...choices.map((choice) => element('option', {value: String(choice)}, String(choice))));
}

function inputFor(schema, place) {
  const {type, example: given, default: usual} = schema.schema;
  return element('input', {
    type: 'text', required: place === 'path', spellcheck: false, autocomplete: 'off',
    inputMode: type === 'integer' ? 'numeric' : 'text', value: String(given ?? usual ?? ''),
    placeholder: type === 'integer' || type === 'number' ? String(example(schema)) : '',
  });
}
