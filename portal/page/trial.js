import {element} from './element.js';
import {example} from './schema.js';
import {buildRequest, curl, send} from './request.js';
import {pendingView, failureView, responseView} from './response.js';

// trialView lets a person make a call: a field for each parameter, one for the body, and what came back.
export function trialView(operation) {
  const inputs = new Map(operation.parameters.map((parameter) => [`${parameter.place} ${parameter.name}`, inputFor(parameter)]));
  if (operation.web) {
    inputs.set('query', element('input', {type: 'text', spellcheck: false, autocomplete: 'off', placeholder: 'name=value&other=value'}));
  }
  if (operation.body) {
    inputs.set('body', bodyInput(operation));
  }
  const line = element('code', {});
  const button = element('button', {type: 'submit'}, 'Send');
  const output = element('div', {className: 'output', 'aria-live': 'polite'});
  const form = element('form', {className: 'trial'}, ...labels(operation, inputs),
    element('p', {className: 'curl'}, line), button, output);

  const request = () => buildRequest(operation, valuesOf(inputs));
  const showLine = () => { line.textContent = curl(operation, request()); };
  form.addEventListener('input', showLine);
  form.addEventListener('submit', submit(request, button, output));
  showLine();
  return form;
}

// submit sends the request; while it is under way the button stops it.
function submit(request, button, output) {
  let running = null;
  return async (event) => {
    event.preventDefault();
    if (running) {
      running.abort();
      return;
    }
    running = new AbortController();
    button.textContent = 'Stop';
    output.replaceChildren(pendingView());
    try {
      output.replaceChildren(responseView(await send(request(), running.signal)));
    } catch (error) {
      output.replaceChildren(failureView(error));
    } finally {
      running = null;
      button.textContent = 'Send';
    }
  };
}

function labels(operation, inputs) {
  const shown = operation.parameters.map(({name, place, json}) =>
    [name, json ? `${place}, as JSON` : place, inputs.get(`${place} ${name}`)]);
  if (operation.web) {
    shown.push(['query', 'any', inputs.get('query')]);
  }
  if (operation.body) {
    shown.push(['body', operation.body.type, inputs.get('body')]);
  }
  return shown.map(([name, hint, input]) => element('label', {},
    element('span', {}, element('code', {}, name), ' ', element('span', {className: 'quiet'}, hint)), input));
}

function valuesOf(inputs) {
  return Object.fromEntries([...inputs].map(([name, input]) => [name, input.value]));
}

// inputFor makes the field of a parameter.
function inputFor(parameter) {
  const {schema} = parameter.schema;
  const choices = schema.type === 'boolean' ? [true, false] : schema.enum;
  if (choices) {
    return selectFor(choices, parameter);
  }
  const input = element('input', {
    type: 'text', required: parameter.required, spellcheck: false, autocomplete: 'off',
    inputMode: schema.type === 'integer' ? 'numeric' : 'text',
    value: schema.default ?? '',
  });
  if (parameter.place === 'path') {
    input.addEventListener('input', () => refuseDots(input));
  }
  return input;
}

function selectFor(choices, parameter) {
  const none = parameter.required ? [] : [element('option', {value: ''}, '')];
  return element('select', {required: parameter.required},
    ...none, ...choices.map((choice) => element('option', {value: String(choice)}, String(choice))));
}

// refuseDots keeps a browser from calling another path: it takes these segments for the way up, escaped or not.
function refuseDots(input) {
  const lost = input.value === '.' || input.value === '..';
  input.setCustomValidity(lost ? 'A browser cannot send this as part of a path.' : '');
}

function bodyInput({body, signature}) {
  const text = JSON.stringify(example(body.schema, signature), null, 2);
  return element('textarea', {value: text, rows: Math.min(text.split('\n').length + 1, 20), spellcheck: false});
}
