import {button, element} from './element.js';
import {failureView, pendingView, spokenOf} from './response.js';

/**
 * A form that sends something and shows the answer; meanwhile its button stops the request. Ctrl+Enter sends.
 */
export class SendForm {
  nodes; // the form, and what it shows
  #fields;
  #send;
  #label;
  #call;
  #output = element('div', {className: 'output', role: 'region', 'aria-label': 'Answer'});
  #spoken = element('p', {className: 'visually-hidden', role: 'status'}); // by screen readers, of the output
  #running = null;

  /**
   * @param {string} name of the form
   * @param {string} label of the button
   * @param {Node[]} fields
   * @param {(signal: AbortSignal, show: (view: Node) => void) => Promise<Node>} call sends, and returns what to show;
   *   meanwhile it can show what has come of a stream
   * @param {{input: function(), reset: function()}} on is called when something was typed, and to empty the fields
   */
  constructor(name, label, fields, call, on) {
    this.#label = label;
    this.#call = call;
    this.#send = element('button', {type: 'submit'}, label);
    this.#fields = element(
      'fieldset',
      {className: 'inputs'},
      ...fields,
      element(
        'div',
        {className: 'buttons'},
        this.#send,
        button(
          'Reset',
          () => {
            on.reset();
            this.#show();
          },
          {className: 'plain'},
        ),
        element('span', {className: 'quiet keys'}, 'Ctrl+Enter'),
      ),
    );
    const form = element('form', {className: 'request-form', 'aria-label': name}, this.#fields);
    form.addEventListener('input', () => on.input());
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.submit();
    });
    form.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
    this.nodes = [form, this.#spoken, this.#output];
  }

  /** Allows to type and to send, or not. */
  enable(enabled) {
    this.#fields.disabled = !enabled;
  }

  /** Stops what is running, and removes the answer. */
  forget() {
    this.#running?.abort();
    this.#running = null;
    this.#send.textContent = this.#label;
    this.#show();
  }

  #show(...views) {
    const before = this.#output.querySelector('pre');
    const followed = before && before.scrollTop + before.clientHeight >= before.scrollHeight - 1;
    const scrolled = before?.scrollTop;
    this.#output.replaceChildren(...views);
    const text = this.#output.querySelector('pre');
    if (text && before) {
      // a stream that continues: its end, unless the user reads something above it
      text.scrollTop = followed ? text.scrollHeight : scrolled;
    }
    const spoken = views.map(spokenOf).join('');
    if (this.#spoken.textContent !== spoken) {
      this.#spoken.textContent = spoken; // not again and again while a stream runs
    }
  }

  /** Sends what is filled in, or stops what is running. */
  async submit() {
    if (this.#running) {
      this.#running.abort();
      return;
    }
    const running = new AbortController();
    this.#running = running;
    this.#send.textContent = 'Stop';
    this.#show(pendingView());
    let views = [];
    try {
      views = [
        await this.#call(running.signal, (view) => {
          if (this.#running === running) {
            views = [view];
            this.#show(view);
          }
        }),
      ];
    } catch (error) {
      views = [failureView(error), ...views]; // with what had come of a stream
    }
    if (this.#running === running) {
      // else it was forgotten
      this.#running = null;
      this.#send.textContent = this.#label;
      this.#show(...views);
    }
  }
}

/** Calls mark(place, path, detail) for each error that a problem reports for an argument. */
export function markErrors({status, text}, mark) {
  if (status !== 400 && status !== 422) {
    return;
  }
  try {
    for (const {name, in: place, detail} of JSON.parse(text).errors || []) {
      mark(place, String(name).split(/\.|(?=\[\d+\])/), detail); // lines[0].n is lines, [0], n
    }
  } catch {
    /* it does not mention fields */
  }
}
