import {expiryText, readClaims, timeLeft} from './caller.js';
import {button, element, many} from './element.js';

const noteLasts = 8000; // milliseconds

/** Shows above the page what has changed on the bus since it was loaded. */
export class Banner {
  node = element('div', {className: 'banner'});
  #alert = element('div', {role: 'alert'});
  #note = element('p', {className: 'note', role: 'status'});
  #caller;
  #actions;
  #timer = 0;
  #said = '';

  constructor(caller, bus, actions) {
    this.#caller = caller;
    this.#actions = actions;
    this.node.append(this.#alert, this.#note);
    bus.onChange((state) => this.#show(state));
  }

  #show({phase, fault, seen, change}) {
    const said = phase === 'ready' && fault ? `${fault.status} ${fault.message}` : '';
    if (said !== this.#said) {
      this.#said = said;
      this.#alert.replaceChildren(...(said ? [this.#faultView(fault, seen)] : []));
    }
    if (change) {
      this.#note.textContent = changeText(change);
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => { this.#note.textContent = ''; }, noteLasts);
    }
  }

  #faultView(fault, seen) {
    const asOf = `What you see is as of ${seen.toLocaleTimeString()}.`;
    if (fault.status === 401) {
      const claims = readClaims(this.#caller.token);
      const why = claims && timeLeft(claims) < 0 ? `Your token ${expiryText(claims)}.` : `Your token is refused: ${fault.message}.`;
      return element('p', {className: 'notice bad'}, `${why} ${asOf} `,
        button('Change the token', this.#actions.changeToken, {className: 'small'}), ' ',
        button('Look as nobody', this.#actions.dropToken, {className: 'small'}));
    }
    const what = fault.status === 0 ? 'The portal is out of reach.' : `The bus cannot be read: ${fault.message}.`;
    return element('p', {className: 'notice bad'}, `${what} ${asOf} The page keeps trying. `,
      button('Try now', this.#actions.again, {className: 'small'}));
  }
}

/** "The bus has changed: 2 new, 1 gone." */
function changeText({added, removed, changed}) {
  const parts = [
    added.length > 0 && `${many(added.length, 'operation')} new`,
    removed.length > 0 && `${many(removed.length, 'operation')} gone`,
    changed.length > 0 && `${many(changed.length, 'operation')} changed`,
  ];
  return `The bus has changed: ${parts.filter(Boolean).join(', ')}.`;
}
