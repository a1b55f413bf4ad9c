import {BodyForm} from './bodyform.js';
import {NotSent} from './caller.js';
import {element} from './element.js';
import {isJSON, objectText} from './json.js';
import {post} from './request.js';
import {responseView, statusView, timeView} from './response.js';
import {markErrors, SendForm} from './sendform.js';
import {traceLink} from './traceids.js';

/** The form that publishes an event by hand. What was typed survives a new description of the event. */
export class PublishForm {
  node;
  #event;
  #caller;
  #body = null;
  #inputs = element('div', {className: 'inputs'});
  #reason = element('p', {className: 'notice', hidden: true});
  #form;

  constructor(event, caller) {
    this.#caller = caller;
    this.#form = new SendForm('Publish', 'Publish', [this.#inputs], (signal) => this.#publish(signal), {
      input: () => {},
      reset: () => this.#build(this.#event),
    });
    this.node = element(
      'section',
      {className: 'try', 'aria-labelledby': 'try-title'},
      element('h2', {id: 'try-title'}, 'Publish by hand'),
      element('p', {className: 'quiet'}, 'All subscribers get it, as if the publisher had published it.'),
      this.#reason,
      ...this.#form.nodes,
    );
    this.#build(event);
    this.allow(false, '');
  }

  /** Takes over a new description of the event. */
  update(event) {
    if (event.fingerprint !== this.#event.fingerprint) {
      const body = this.#body;
      this.#build(event);
      if (body && this.#body) {
        this.#body.take(body);
      }
    }
  }

  /** Allows to publish, or says why not. */
  allow(allowed, reason) {
    this.#form.enable(allowed && this.#body !== null);
    const text =
      allowed && !this.#body ? 'The publisher does not describe the arguments of this event, so it cannot be published by hand.' : reason;
    if (this.#reason.textContent !== text) {
      this.#reason.textContent = text;
    }
    this.#reason.hidden = text === '';
  }

  /** Removes the answer, which was for another caller. */
  forget() {
    this.#form.forget();
  }

  #build(event) {
    this.#event = event;
    this.#body = event.payload && new BodyForm({type: event.type, schema: event.payload}, event.signature);
    this.#inputs.replaceChildren(...(this.#body ? [this.#body.node] : []));
  }

  async #publish(signal) {
    const {publisher, name} = this.#event;
    const {text} = this.#body;
    if (!isJSON(text)) {
      throw new NotSent('Not published: the arguments are not JSON.');
    }
    const json = objectText([
      ['publisher', JSON.stringify(publisher)],
      ['event', JSON.stringify(name)],
      ['arguments', text],
    ]);
    const result = await post('publish', json, this.#caller, signal);
    markErrors(result, (_, path, detail) => this.#body.mark(path, detail));
    return result.status === 202 ? publishedView(result) : responseView(result);
  }
}

function publishedView({status, statusText, milliseconds, text, traceId}) {
  return element(
    'div',
    {className: 'response'},
    element('p', {className: 'outcome'}, statusView(status, statusText), ' ', timeView(milliseconds), ' ', traceLink(traceId)),
    element('p', {className: 'published'}, 'Published, message ', element('code', {className: 'message'}, JSON.parse(text).msgId)),
  );
}
