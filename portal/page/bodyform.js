import {button, element, newID} from './element.js';
import {choiceText, fieldFor, membersOf, oneInput} from './fields.js';
import {compact, indent, parseTree, whyNoTree, write} from './json.js';
import {example, fields, isNothing} from './schema.js';

/** The field of a parameter in the path or the query: {node, value, take(other), mark(path, detail)}. */
export function parameterField(parameter) {
  const {name, place, required, json, schema} = parameter;
  const choices = schema.schema.type === 'boolean' ? [true, false] : schema.schema.enum;
  const input = choices ? selectFor(schema, choices, required) : inputFor(schema, place);
  const hint = json ? `${place}, as JSON` : place;
  const field = oneInput(name, schema, required && place !== 'path', input, {hint});
  return {
    node: field.node,
    mark: field.mark,
    get value() {
      return input.value;
    },
    take: (value) => {
      input.value = value;
    },
  };
}

function selectFor(schema, choices, required) {
  const none = required ? [] : [element('option', {value: ''}, '(not sent)')];
  const options = choices.map((choice, at) => element('option', {value: String(choice)}, choiceText(schema, choice, at)));
  return element('select', {required}, ...none, ...options);
}

function inputFor(schema, place) {
  const {type, example: sample, default: usual} = schema.schema;
  return element('input', {
    type: 'text',
    required: place === 'path',
    spellcheck: false,
    autocomplete: 'off',
    inputMode: type === 'integer' ? 'numeric' : 'text',
    value: String(sample ?? usual ?? ''),
    placeholder: type === 'integer' || type === 'number' ? String(example(schema)) : '',
  });
}

/** The body for a handler with unknown arguments: a text, and its content type. */
export class RawBody {
  node;
  #type = element('input', {type: 'text', id: newID('type'), value: 'application/json', spellcheck: false, autocomplete: 'off'});
  #text = element('textarea', {rows: 5, id: newID('body'), spellcheck: false});

  constructor() {
    this.node = element(
      'fieldset',
      {className: 'body'},
      element('legend', {className: 'visually-hidden'}, 'Body'),
      element('div', {className: 'field'}, element('label', {htmlFor: this.#type.id}, 'Content type'), this.#type),
      element('div', {className: 'field'}, element('label', {htmlFor: this.#text.id}, 'Body'), this.#text),
    );
  }

  /** The body, undefined if there is none. */
  get text() {
    return this.#text.value || undefined;
  }

  get type() {
    return this.#type.value.trim() || 'application/octet-stream';
  }

  /** Takes over what was typed into another raw body. */
  take(other) {
    this.#text.value = other.text ?? '';
    this.#type.value = other.type;
  }

  /** Fills in a text and its type. */
  fill({body, type}) {
    this.take({text: body, type: type || this.#type.value});
  }

  /** There are no fields here. */
  mark() {
    return false;
  }
}

/**
 * The body of a request: a form made from its schema, or the JSON itself. Switching between the two keeps what was
 * typed, as far as the other one can show it.
 */
export class BodyForm {
  node;
  #type;
  #form;
  #text;
  #note = element('p', {className: 'quiet', role: 'status'});
  #raw = false;
  #before = ''; // the form's JSON when the text was last shown

  constructor({type, schema}, signature) {
    this.#type = type;
    const members = fields(schema, signature).map((member) => [
      member.name,
      fieldFor(member.name, member.schema, {required: member.required}),
    ]);
    const none = isNothing(schema);
    const whole = members.length === 0 && !none && fieldFor('', schema, {required: true});
    const nodes = none
      ? [element('p', {className: 'quiet'}, 'There is nothing to fill in: the body is {}.')]
      : members.map(([, field]) => field.node);
    this.#form = whole ? {...whole, node: [whole.node]} : {...membersOf(members, true), node: nodes};
    const sample = write(example(schema, signature));
    this.#text = element('textarea', {
      rows: 8,
      spellcheck: false,
      hidden: true,
      'aria-label': `Body, ${type}`,
      placeholder: indent(sample),
      id: newID('body'),
    });
    const inputs = element('div', {className: 'inputs'}, ...this.#form.node);
    const modes = ['Form', 'JSON'].map((name) => button(name, () => this.#change(name === 'JSON'), {className: 'mode'}));
    const show = () => {
      inputs.hidden = this.#raw;
      this.#text.hidden = !this.#raw;
      for (const mode of modes) {
        mode.setAttribute('aria-pressed', String((mode.textContent === 'JSON') === this.#raw));
      }
    };
    this.#show = show;
    show();
    this.node = element(
      'fieldset',
      {className: 'body'},
      element('legend', {}, 'Body ', element('span', {className: 'quiet'}, type)),
      element('div', {className: 'modes', role: 'group', 'aria-label': 'Type the body as'}, ...modes),
      this.#note,
      inputs,
      this.#text,
    );
  }

  #show;

  get type() {
    return this.#type;
  }

  /** The body to send. */
  get text() {
    return this.#raw ? this.#text.value : (this.#form.text() ?? 'null');
  }

  /** Takes over what was typed into another body form. */
  take(other) {
    const text = other.text ?? '';
    const raw = other instanceof BodyForm && other.#raw;
    const tree = parseTree(text);
    if (raw || !tree || !this.#form.fill(tree)) {
      this.#text.value = raw ? text : indent(text);
      this.#raw = true;
      this.#show();
    }
  }

  /** Fills in JSON; undefined leaves the form as it is. */
  fill({body}) {
    if (body !== undefined) {
      this.take({text: body});
    }
  }

  /** Shows the error of an argument; returns false if the form has no field of that name. */
  mark(path, detail) {
    return !this.#raw && this.#form.mark(path, detail);
  }

  #change(raw) {
    if (raw === this.#raw) {
      return;
    }
    this.#note.textContent = '';
    if (raw) {
      const text = this.text;
      if (text !== this.#before) {
        // otherwise the JSON that was typed is still there
        this.#text.value = indent(text);
      }
    } else if (!this.#toForm()) {
      return;
    }
    this.#raw = raw;
    this.#show();
    this.node.dispatchEvent(new Event('input', {bubbles: true}));
  }

  /** Fills the form from the text. If the form cannot show all of it, nothing changes. */
  #toForm() {
    const text = this.#text.value.trim() || '{}';
    const tree = parseTree(text);
    const before = parseTree(this.#form.text() ?? 'null');
    if (!tree || !this.#form.fill(tree)) {
      this.#form.fill(before.kind === 'word' && before.text === 'null' ? undefined : before);
      this.#note.textContent = tree
        ? 'The form cannot show all of this JSON, so it stays as it is.'
        : `This ${whyNoTree(text)}, so the form cannot show it.`;
      return false;
    }
    this.#before = compact(this.#form.text() ?? 'null');
    return true;
  }
}
