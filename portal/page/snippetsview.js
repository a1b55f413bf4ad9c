import {copyButton} from './copy.js';
import {button, element, newID} from './element.js';
import {snippets} from './snippets.js';

const names = ['curl', 'Go', 'NATS'];

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
    this.node = element('section', {className: 'snippets', 'aria-label': 'The same call elsewhere'},
      element('h3', {}, 'The same call elsewhere'), tabs,
      element('div', {id: panel, role: 'tabpanel', className: 'text'}, this.#about,
        copyButton(() => this.#code.textContent, 'Copy the call'),
        element('pre', {tabIndex: 0, role: 'group', 'aria-label': 'The call as text'}, this.#code)));
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
