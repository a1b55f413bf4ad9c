import {answersView} from './answers.js';
import {BodyForm} from './bodyform.js';
import {button, element, newID} from './element.js';
import {parameterField} from './parameters.js';
import {RawBody} from './rawbody.js';
import {allInstances, anyInstance, buildRequest, multicast, send} from './request.js';
import {failureView, pendingView, responseView} from './response.js';
import {SnippetsView} from './snippetsview.js';

/**
 * Lets a person make a call: fields for what an operation takes, whom to send it to, what came back, and the same call
 * for other tools. What was typed outlives another description of the operation.
 */
export class Trial {
  node;
  #operation;
  #caller;
  #state; // of the bus
  #parameters = new Map(); // fields, by place and name
  #body = null;
  #query = null; // of a handler whose arguments nobody knows
  #to = element('select', {id: newID('to')});
  #inputs = element('div', {className: 'inputs'});
  #send = element('button', {type: 'submit'}, 'Send');
  #output = element('div', {className: 'output', role: 'region', 'aria-label': 'Answer', 'aria-live': 'polite'});
  #snippets = new SnippetsView();
  #running = null;

  constructor(operation, caller, state) {
    this.#caller = caller;
    this.#state = state;
    const form = element('form', {className: 'trial', 'aria-label': 'Call'},
      this.#inputs,
      element('div', {className: 'field'}, element('label', {htmlFor: this.#to.id}, 'Send to'), this.#to),
      element('div', {className: 'buttons'}, this.#send,
        button('Reset', () => this.#reset(), {className: 'plain'}),
        element('span', {className: 'quiet keys'}, 'Ctrl+Enter')));
    form.addEventListener('input', () => this.#showSnippets());
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#submit();
    });
    form.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
    this.node = element('section', {className: 'try', 'aria-labelledby': 'try-title'},
      element('h2', {id: 'try-title'}, 'Try it'), form, this.#output, this.#snippets.node);
    this.#build(operation);
    this.#showInstances();
  }

  /** Takes over another description of the operation, and who runs. */
  update(operation, state) {
    const moved = this.#state.instances !== state.instances;
    this.#state = state;
    if (operation.fingerprint !== this.#operation.fingerprint) {
      const {parameters, body, query} = {parameters: this.#parameters, body: this.#body, query: this.#query};
      this.#build(operation);
      parameters.forEach((field, key) => this.#parameters.get(key)?.take(field.value));
      if (body && this.#body) {
        this.#body.take(body);
      }
      if (query && this.#query) {
        this.#query.take(query.value);
      }
    }
    if (moved) {
      this.#showInstances();
    }
    this.#showSnippets();
  }

  /** Takes the answers away: they were for somebody else. */
  forget() {
    this.#running?.abort();
    this.#output.replaceChildren();
    this.#showSnippets();
  }

  #build(operation) {
    this.#operation = operation;
    this.#parameters = new Map(operation.parameters.map((parameter) => [`${parameter.place} ${parameter.name}`, parameterField(parameter)]));
    this.#body = bodyOf(operation);
    this.#query = operation.web ? parameterField({name: 'query', place: 'such as name=value&other=value', schema: {schema: {type: 'string'}}}) : null;
    const fields = [...this.#parameters.values(), this.#query, this.#body].filter(Boolean);
    this.#inputs.replaceChildren(...fields.map((field) => field.node));
    this.#showSnippets();
  }

  #reset() {
    this.#build(this.#operation);
    this.#output.replaceChildren();
  }

  /** Offers the instances that run; one that was chosen and is gone stays, and is called what it is. */
  #showInstances() {
    const chosen = this.#to.value;
    const running = (this.#state.instances[this.#operation.host] || []).map(({id}) => id);
    const gone = chosen && chosen !== allInstances && !running.includes(chosen);
    this.#to.replaceChildren(
      element('option', {value: anyInstance}, 'one instance, whichever the bus picks'),
      element('option', {value: allInstances}, 'all instances (multicast)'),
      ...running.map((id) => element('option', {value: id}, `instance ${id}`)),
      ...(gone ? [element('option', {value: chosen}, `instance ${chosen}, which is gone`)] : []));
    this.#to.value = chosen;
  }

  #request() {
    const values = Object.fromEntries([...this.#parameters].map(([key, field]) => [key, field.value]));
    const all = {...values, query: this.#query?.value, body: this.#body?.text, type: this.#body?.type};
    return {...buildRequest(this.#operation, all, this.#to.value), values};
  }

  #showSnippets() {
    const {plane} = this.#state;
    this.#snippets.show(this.#operation, this.#request(), {plane, secured: this.#caller.token !== ''});
  }

  /** Makes the call; while it is under way the button stops it. */
  async #submit() {
    if (this.#running) {
      this.#running.abort();
      return;
    }
    const running = new AbortController();
    this.#running = running;
    this.#send.textContent = 'Stop';
    this.#output.replaceChildren(pendingView());
    let view;
    try {
      view = await this.#call(running.signal);
    } catch (error) {
      view = failureView(error);
    }
    this.#running = null;
    this.#send.textContent = 'Send';
    this.#output.replaceChildren(view);
  }

  async #call(signal) {
    const request = this.#request();
    const made = request.to === allInstances ? multicast : send;
    const result = await made(request, this.#caller, signal);
    if (result.answers) {
      return answersView(result);
    }
    this.#mark(result);
    return responseView(result);
  }

  /** Shows beside each field what a service says is wrong with it. */
  #mark({status, text}) {
    if (status !== 400 && status !== 422) {
      return;
    }
    try {
      for (const {name, in: place, detail} of JSON.parse(text).errors || []) {
        const path = String(name).split(/\.|(?=\[\d+\])/); // "lines[0].n" is lines, [0], n
        const field = this.#parameters.get(`${place} ${path[0]}`);
        if (field) {
          field.mark(path.slice(1), detail);
        } else {
          this.#body?.mark(path, detail);
        }
      }
    } catch { /* it says nothing of fields */ }
  }
}

/** Where the body is typed, null for an operation without one. */
function bodyOf({body, signature, web, method}) {
  if (body) {
    return new BodyForm(body, signature);
  }
  return web && !['get', 'head', 'delete'].includes(method) ? new RawBody() : null;
}
