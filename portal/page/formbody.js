import {parameterField} from './bodyform.js';
import {multipart} from './document.js';
import {element} from './element.js';
import {oneInput} from './fields.js';
import {fields} from './schema.js';

/**
 * The body of a handler that reads a form: inputs for texts, and file pickers. What is empty is not sent, unless it is
 * required.
 */
export class FormBody {
  node;
  #type;
  #fields; // by name

  /** @param {{type, schema, encoding}} body of an operation */
  constructor({type, schema, encoding}) {
    this.#type = type;
    this.#fields = new Map(fields(schema).map((member) => [member.name, fieldOf(member, encoding[member.name]?.contentType)]));
    this.node = element(
      'fieldset',
      {className: 'body'},
      element('legend', {}, 'Body ', element('span', {className: 'quiet'}, type)),
      element('div', {className: 'inputs'}, ...[...this.#fields.values()].map((field) => field.node)),
    );
  }

  /** The entries of a form with files, [[name, string or File]]; undefined for one that is sent as text. */
  get form() {
    return this.#type === multipart ? this.entries : undefined;
  }

  /** The body of a form that is sent as text. */
  get text() {
    return this.form ? undefined : String(new URLSearchParams(this.entries));
  }

  get type() {
    return this.#type;
  }

  /** Takes over what was typed into another form. */
  take(other) {
    if (other instanceof FormBody) {
      for (const [name, field] of this.#fields) {
        field.take(other.#fields.get(name));
      }
    }
  }

  /** Fills in entries, [[name, text]]; files cannot be. */
  fill({pairs}) {
    for (const [name, field] of this.#fields) {
      const values = pairs.filter(([one]) => one === name).map(([, value]) => value);
      field.take({values: () => values});
    }
  }

  /** Shows the error of a field; returns false if the form has none of that name. */
  mark([first, ...rest], detail) {
    return Boolean(this.#fields.get(first)?.mark(rest, detail));
  }

  /** The entries of the form, [[name, string or File]]. */
  get entries() {
    return [...this.#fields].flatMap(([name, field]) => field.values().map((value) => [name, value]));
  }
}

/** The field of a member: {node, values(), take(other), mark(path, detail)}. */
function fieldOf({name, required, schema}, mediaTypes) {
  const several = schema.schema.type === 'array';
  const {schema: one} = several ? schema.follow(schema.schema.items) : schema;
  if (one.format === 'binary') {
    const input = element('input', {type: 'file', multiple: several, accept: mediaTypes});
    return {
      ...oneInput(name, schema, required, input, {hint: mediaTypes}),
      input,
      values: () => [...input.files],
      take: (other) => {
        if (other?.input?.type === 'file') {
          input.files = other.input.files;
        }
      },
    };
  }
  if (several) {
    const input = element('textarea', {rows: 2, spellcheck: false});
    return {
      ...oneInput(name, schema, required, input, {hint: 'one on each line'}),
      input,
      values: () => input.value.split('\n').filter((line) => line !== ''),
      take: (other) => {
        input.value =
          other
            ?.values()
            .filter((value) => typeof value === 'string')
            .join('\n') ?? '';
      },
    };
  }
  const field = parameterField({name, place: '', required, schema});
  return {
    node: field.node,
    mark: field.mark,
    values: () => (field.value === '' && !required ? [] : [field.value]),
    take: (other) => {
      const [value = ''] = other?.values() ?? [];
      field.take(typeof value === 'string' ? value : '');
    },
  };
}
