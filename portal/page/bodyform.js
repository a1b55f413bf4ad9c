import {button, element, newID} from './element.js';
import {fieldFor, membersOf} from './fields.js';
import {compact, indent, write} from './json.js';
import {parseTree} from './jsontree.js';
import {example, fields, isMap} from './schema.js';

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
    const members = fields(schema, signature).map((member) => [member.name, fieldFor(member.name, member.schema, {required: member.required})]);
    const none = members.length === 0 && schema.schema.type === 'object' && !isMap(schema.schema);
    const whole = members.length === 0 && !none && fieldFor('', schema, {required: true});
    const nodes = none ? [element('p', {className: 'quiet'}, 'There is nothing to fill in: the body is {}.')] : members.map(([, field]) => field.node);
    this.#form = whole ? {...whole, node: [whole.node]} : {...membersOf(members, true), node: nodes};
    const sample = write(example(schema, signature));
    this.#text = element('textarea', {
      rows: 8, spellcheck: false, hidden: true, 'aria-label': `Body, ${type}`, placeholder: indent(sample), id: newID('body'),
    });
    const inputs = element('div', {className: 'inputs'}, ...this.#form.node);
    const modes = ['Form', 'JSON'].map((name) => button(name, () => this.#change(name === 'JSON'), {className: 'mode'}));
    const show = () => {
      inputs.hidden = this.#raw;
      this.#text.hidden = !this.#raw;
      modes.forEach((mode) => mode.setAttribute('aria-pressed', String((mode.textContent === 'JSON') === this.#raw)));
    };
    this.#show = show;
    show();
    this.node = element('fieldset', {className: 'body'},
      element('legend', {}, 'Body ', element('span', {className: 'quiet'}, type)),
      element('div', {className: 'modes', role: 'group', 'aria-label': 'Type the body as'}, ...modes),
      this.#note, inputs, this.#text);
  }

  #show;

  get type() {
    return this.#type;
  }

  /** The body to send. */
  get text() {
    return this.#raw ? this.#text.value : this.#form.text() ?? 'null';
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

  /** Shows the fault of an argument; returns false if the form has no field of that name. */
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
      if (text !== this.#before) { // otherwise the JSON that was typed is still there
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
    const tree = parseTree(this.#text.value.trim() || '{}');
    const before = parseTree(this.#form.text() ?? 'null');
    if (!tree || !this.#form.fill(tree)) {
      this.#form.fill(before.kind === 'word' && before.text === 'null' ? undefined : before);
      this.#note.textContent = tree ? 'The form cannot show all of this JSON, so it stays as it is.' : 'This is not JSON yet, so the form cannot show it.';
      return false;
    }
    this.#before = compact(this.#form.text() ?? 'null');
    return true;
  }
}
