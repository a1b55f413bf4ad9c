import {element, newID} from './element.js';

/** The body for a handler with unknown arguments: a text, and its content type. */
export class RawBody {
  node;
  #type = element('input', {type: 'text', id: newID('type'), value: 'application/json', spellcheck: false, autocomplete: 'off'});
  #text = element('textarea', {rows: 5, id: newID('body'), spellcheck: false});

  constructor() {
    this.node = element('fieldset', {className: 'body'},
      element('legend', {className: 'unseen'}, 'Body'),
      element('div', {className: 'field'}, element('label', {htmlFor: this.#type.id}, 'Content type'), this.#type),
      element('div', {className: 'field'}, element('label', {htmlFor: this.#text.id}, 'Body'), this.#text));
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

  /** There are no fields here. */
  mark() {
    return false;
  }
}
