import {expiryText, readClaims, timeLeft} from './caller.js';
import {button, element, pluralize} from './element.js';

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

  #show({phase, error, seen, change}) {
    const said = phase === 'ready' && error ? `${error.status} ${error.message}` : '';
    if (said !== this.#said) {
      this.#said = said;
      this.#alert.replaceChildren(...(said ? [this.#errorView(error, seen)] : []));
    }
    if (change) {
      this.#note.textContent = changeText(change);
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => {
        this.#note.textContent = '';
      }, noteLasts);
    }
  }

  #errorView(error, seen) {
    const asOf = `What you see is as of ${seen.toLocaleTimeString()}.`;
    if (error.status === 401) {
      const claims = readClaims(this.#caller.token);
      const why =
        claims && timeLeft(claims) < 0
          ? `Your token ${expiryText(claims)}, so it is not sent.`
          : `Your token is refused: ${error.message}.`;
      return element(
        'p',
        {className: 'notice bad'},
        `${why} ${asOf} `,
        button('Change the token', this.#actions.changeToken, {className: 'small'}),
        ' ',
        button('Look as nobody', this.#actions.dropToken, {className: 'small'}),
      );
    }
    const what = error.status === 0 ? 'The portal is out of reach.' : `The bus cannot be read: ${error.message}.`;
    return element(
      'p',
      {className: 'notice bad'},
      `${what} ${asOf} The page keeps trying. `,
      button('Try now', this.#actions.again, {className: 'small'}),
    );
  }
}

/** "The bus has changed: 2 new, 1 gone." */
function changeText({added, removed, changed}) {
  const parts = [
    added.length > 0 && `${pluralize(added.length, 'operation')} new`,
    removed.length > 0 && `${pluralize(removed.length, 'operation')} gone`,
    changed.length > 0 && `${pluralize(changed.length, 'operation')} changed`,
  ];
  return `The bus has changed: ${parts.filter(Boolean).join(', ')}.`;
}
