import {element} from './element.js';
import {Poller} from './poller.js';

/** Shows above the page what the portal has to say, such as the errors of builds on a developer's machine. */
export class Notices {
  node = element('div', {className: 'banner', role: 'alert'});
  #has = true; // the portal may have something to say
  #shown = [];

  constructor(caller) {
    const poller = new Poller('notices.json', caller, {
      watched: () => this.#has,
      apply: ({notices}) => this.#show(notices),
      miss: () => {}, // what is known stays
    });
    poller.wake();
  }

  #show(notices) {
    this.#has = Array.isArray(notices);
    if (this.#has && this.#shown !== notices) {
      this.#shown = notices;
      this.node.replaceChildren(...notices.map((text) => element('pre', {className: 'notice bad', tabIndex: 0}, String(text))));
    }
  }
}
