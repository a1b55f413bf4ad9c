import {BodyForm, parameterField, RawBody} from './bodyform.js';
import {NotSent} from './caller.js';
import {callStore} from './callstore.js';
import {isForm} from './document.js';
import {element, newID, pluralize} from './element.js';
import {FormBody} from './formbody.js';
import {allInstances, anyInstance, buildRequest, multicast, send} from './request.js';
import {answersView, responseView} from './response.js';
import {markErrors, SendForm} from './sendform.js';
import {SnippetsView} from './snippets.js';
import {readValues, writeValues} from './values.js';

/**
 * The form for making a call: fields for the arguments, the target, the response, and the same call for other tools.
 * What was typed survives a new description of the operation.
 */
export class RequestForm {
  node;
  #operation;
  #caller;
  #state; // of the bus
  #parameters = new Map(); // fields, by place and name
  #body = null;
  #query = null; // for a handler with unknown arguments
  #to = element('select', {id: newID('to')});
  #inputs = element('div', {className: 'inputs'});
  #form;
  #snippets = new SnippetsView();

  constructor(operation, caller, state) {
    this.#caller = caller;
    this.#state = state;
    const to = element('div', {className: 'field'}, element('label', {htmlFor: this.#to.id}, 'Send to'), this.#to);
    this.#form = new SendForm('Call', 'Send', [this.#inputs, to], (signal, show) => this.#call(signal, show), {
      input: () => this.#showSnippets(),
      reset: () => this.#build(this.#operation),
    });
    this.node = element(
      'section',
      {className: 'try', 'aria-labelledby': 'try-title'},
      element('h2', {id: 'try-title'}, 'Try it'),
      ...this.#form.nodes,
      this.#snippets.node,
    );
    this.#build(operation);
    this.#showInstances();
  }

  /** Takes over a new description of the operation, and the running instances. */
  update(operation, state) {
    const moved = this.#state.instances !== state.instances;
    this.#state = state;
    if (operation.fingerprint !== this.#operation.fingerprint) {
      const {parameters, body, query} = {parameters: this.#parameters, body: this.#body, query: this.#query};
      this.#build(operation);
      for (const [key, field] of parameters) {
        this.#parameters.get(key)?.take(field.value);
      }
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

  /** The values of the form as a query, without secrets: {text, leftOut}. */
  get values() {
    try {
      return this.#writtenValues();
    } catch {
      return {text: '', leftOut: ['values that are too deep']}; // for the stack of the browser
    }
  }

  #writtenValues() {
    const parameters = [...this.#parameters].map(([key, field]) => [key, field.value]);
    const form = this.#body instanceof FormBody ? this.#body.entries : undefined;
    const {text: body, type = ''} = this.#body || {};
    return writeValues(this.#operation, {parameters, query: this.#query?.value ?? '', body, type, form, to: this.#to.value});
  }

  /** Fills in values that are a query, and sends nothing. */
  fill(text) {
    this.#build(this.#operation);
    const values = readValues(this.#operation, text);
    for (const [key, value] of values.parameters) {
      this.#parameters.get(key)?.take(value);
    }
    this.#query?.take(values.query);
    this.#body?.fill(values);
    this.#showInstances(values.to);
    this.#form.forget();
    this.#showSnippets();
  }

  /** Sends what is filled in. */
  submit() {
    this.#form.submit();
  }

  /** Removes the answers, which were for another caller. */
  forget() {
    this.#form.forget();
    this.#showSnippets();
  }

  #build(operation) {
    this.#operation = operation;
    this.#parameters = new Map(
      operation.parameters.map((parameter) => [`${parameter.place} ${parameter.name}`, parameterField(parameter)]),
    );
    this.#body = bodyOf(operation);
    this.#query = operation.web
      ? parameterField({name: 'query', place: 'such as name=value&other=value', schema: {schema: {type: 'string'}}})
      : null;
    const fields = [...this.#parameters.values(), this.#query, this.#body].filter(Boolean);
    this.#inputs.replaceChildren(...fields.map((field) => field.node));
    this.#showSnippets();
  }

  /** Offers the running instances; a selected one that has gone stays, and is marked as gone. */
  #showInstances(chosen = this.#to.value) {
    const running = (this.#state.instances[this.#operation.host] || []).map(({id}) => id);
    const gone = chosen && chosen !== allInstances && !running.includes(chosen);
    this.#to.replaceChildren(
      element('option', {value: anyInstance}, 'any instance'),
      element('option', {value: allInstances}, 'all instances (multicast)'),
      ...running.map((id) => element('option', {value: id}, `instance ${id}`)),
      ...(gone ? [element('option', {value: chosen}, `instance ${chosen}, which is gone`)] : []),
    );
    this.#to.value = chosen;
  }

  #request() {
    const values = Object.fromEntries([...this.#parameters].map(([key, field]) => [key, field.value]));
    const all = {...values, query: this.#query?.value, body: this.#body?.text, form: this.#body?.form, type: this.#body?.type};
    return {...buildRequest(this.#operation, all, this.#to.value), values};
  }

  #showSnippets() {
    const {plane, services} = this.#state;
    const places = services.flatMap(({operations}) => operations);
    this.#snippets.show(this.#operation, this.#request(), {plane, secured: this.#caller.token !== '', services: places});
  }

  /** Makes a call, which the history of the browser keeps. */
  async #recorded(call, request, signal, show) {
    const [operation, values, at, started] = [this.#operation, this.values, Date.now(), performance.now()];
    let latest = null; // of a stream
    const record = (outcome) => callStore.add(operation, values, at, performance.now() - started, outcome);
    try {
      const result = await call(request, this.#caller, signal, (soFar) => {
        latest = soFar;
        show(responseView(soFar));
      });
      record(outcomeOf(result));
      return result;
    } catch (error) {
      if (!(error instanceof NotSent)) {
        record({
          status: latest ? `${latest.status} ${latest.stream}` : error.name === 'AbortError' ? 'stopped' : 'no answer',
          text: latest?.text ?? '',
          traceId: error.traceId,
        });
      }
      throw error;
    }
  }

  async #call(signal, show) {
    const request = this.#request();
    const result = await this.#recorded(request.to === allInstances ? multicast : send, request, signal, show);
    if (result.answers) {
      return answersView(result);
    }
    markErrors(result, (place, path, detail) => {
      const field = this.#parameters.get(`${place} ${path[0]}`);
      if (field) {
        field.mark(path.slice(1), detail);
      } else {
        this.#body?.mark(path, detail);
      }
    });
    return responseView(result);
  }
}

/** What is kept of the answers of all instances. */
function outcomeOf({answers, status, text, traceId}) {
  return answers
    ? {status: pluralize(answers.length, 'answer'), text: JSON.stringify(answers.map(({body}) => body)), traceId}
    : {status, text: text ?? '', traceId};
}

/** The editor for the body, null for an operation without one. */
function bodyOf({body, signature, web, method}) {
  if (body) {
    return isForm(body.type) ? new FormBody(body) : new BodyForm(body, signature);
  }
  return web && !['get', 'head', 'delete'].includes(method) ? new RawBody() : null;
}
