import {copyButton} from './buttons.js';
import {button, element, newID} from './element.js';
import {buslineSnippet, pythonSnippet, typescriptSnippet} from './elsewhere.js';
import {goSnippet} from './golang.js';
import {compact} from './json.js';
import {natsSnippet} from './nats.js';
import {addressOf, allInstances} from './request.js';
import {shellQuote} from './shell.js';

/**
 * The same call for other tools: [{name, about, text}].
 * @param {{server: string, plane: string, secured: boolean, services: Object[]}} bus the context of the call; secured if there is a
 *   token; services are {host, port}
 */
export function snippets(operation, request, bus) {
  const toAll = request.to === allInstances;
  return [
    {
      name: 'curl',
      about: toAll ? 'HTTP reaches one instance; the first to answer.' : '',
      text: curl(operation, request, bus.secured),
    },
    {name: 'busline', about: '', text: buslineSnippet(operation, request, bus)},
    {name: 'Go', about: '', text: goSnippet(operation, request, bus.secured)},
    {
      name: 'TypeScript',
      about: toAll ? 'The client reaches one instance; the first to answer.' : 'bus.ts is the client that the portal has at client.ts.',
      text: typescriptSnippet(operation, request, bus),
    },
    {
      name: 'Python',
      about: request.form
        ? 'A form with files is nothing that the standard library of Python writes.'
        : toAll
          ? 'HTTP reaches one instance; the first to answer.'
          : '',
      text: pythonSnippet(operation, request, bus),
    },
    request.form
      ? {name: 'NATS', about: 'A form with files is not text: another program has to write it.', text: ''}
      : {
          name: 'NATS',
          about:
            'What travels on the bus is HTTP text. The first line shows the ack and the response, in one terminal;' +
            ' the second sends the request, in another.',
          text: natsSnippet(request, bus),
        },
  ];
}

/** The line that makes the call from a shell. The token is a secret and must not appear in a terminal. */
function curl(operation, request, secured) {
  const words = ['curl', '-i'];
  const usual = request.body === undefined && !request.form ? 'GET' : 'POST';
  if (request.method === 'HEAD') {
    words.push('-I');
  } else if (request.method !== usual) {
    words.push('-X', request.method);
  }
  words.push(shellQuote(addressOf(operation, request)));
  words.push(...Object.entries(request.headers).flatMap(([name, value]) => ['-H', shellQuote(`${name}: ${value}`)]));
  if (request.body !== undefined) {
    words.push('-H', shellQuote(`Content-Type: ${request.type}`), '--data-raw', shellQuote(compact(request.body)));
  }
  words.push(...(request.form || []).flatMap(formWords));
  if (secured) {
    words.push('-H', '"Authorization: Bearer $TOKEN"');
  }
  return words.join(' ');
}

/**
 * A field or a file as words of curl, which would take a text apart that begins with @ or <, or has a ";" or quotes.
 */
function formWords([name, value]) {
  if (typeof value !== 'string') {
    const file = /[;,"\\]/.test(value.name) ? `"${value.name.replace(/["\\]/g, '\\$&')}"` : value.name;
    return ['-F', shellQuote(`${name}=@${file}`)];
  }
  return [/^[@<]|[;"]/.test(value) ? '--form-string' : '-F', shellQuote(`${name}=${value}`)];
}

const names = ['curl', 'busline', 'Go', 'TypeScript', 'Python', 'NATS'];

/** The same call for other tools, one of which is shown. */
export class SnippetsView {
  node;
  #tabs;
  #about = element('p', {className: 'quiet'});
  #code = element('code', {});
  #all = [];
  #chosen = names[0];

  constructor() {
    const panel = newID('snippet');
    this.#tabs = names.map((name) => button(name, () => this.#choose(name), {role: 'tab', 'aria-controls': panel, className: 'mode'}));
    const tabs = element('div', {className: 'modes', role: 'tablist', 'aria-label': 'As'}, ...this.#tabs);
    tabs.addEventListener('keydown', (event) => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (step) {
        const next = (names.indexOf(this.#chosen) + step + names.length) % names.length;
        this.#choose(names[next]);
        this.#tabs[next].focus();
      }
    });
    this.node = element(
      'section',
      {className: 'snippets', 'aria-label': 'The same call elsewhere'},
      element('h3', {}, 'The same call elsewhere'),
      tabs,
      element(
        'div',
        {id: panel, role: 'tabpanel', className: 'text'},
        this.#about,
        copyButton(() => this.#code.textContent, 'Copy the call'),
        element('pre', {tabIndex: 0, role: 'group', 'aria-label': 'The call as text'}, this.#code),
      ),
    );
    this.#choose(this.#chosen);
  }

  show(operation, request, bus) {
    this.#all = snippets(operation, request, bus);
    this.#draw();
  }

  #choose(name) {
    this.#chosen = name;
    this.#tabs.forEach((tab) => {
      const selected = tab.textContent === name;
      tab.setAttribute('aria-selected', String(selected));
      tab.tabIndex = selected ? 0 : -1;
    });
    this.#draw();
  }

  #draw() {
    const shown = this.#all.find(({name}) => name === this.#chosen);
    this.#about.textContent = shown?.about || '';
    this.#about.hidden = !shown?.about;
    this.#code.textContent = shown?.text || '';
  }
}
