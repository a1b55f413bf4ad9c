import {button, element} from './element.js';
import {expiryText, nameOf, readClaims, timeLeft} from './jwt.js';

/** The button in the header that shows the caller, and the panel in which the caller can be changed. */
export class TokenPanel {
  button;
  dialog;
  #caller;
  #refused = false;
  #input = element('input', {type: 'password', id: 'token', autocomplete: 'off', spellcheck: false, placeholder: 'eyJ…'});
  #about = element('div', {'aria-live': 'polite'});

  constructor(caller, bus) {
    this.#caller = caller;
    this.button = button('', () => this.open(), {id: 'caller', className: 'caller', 'aria-haspopup': 'dialog'});
    const form = element('form', {method: 'dialog'},
      element('h2', {id: 'token-title'}, 'Who calls'),
      element('p', {}, 'A token, a JWT, says who you are: what you see here depends on it, and what you may call. It stays in this tab.'),
      element('div', {className: 'field'}, element('label', {htmlFor: 'token'}, 'Token'), this.#input),
      this.#about,
      element('div', {className: 'buttons'},
        element('button', {type: 'submit', value: 'use'}, 'Use it'),
        button('Remove', () => this.#use(''), {className: 'plain'}),
        button('Cancel', () => this.dialog.close(), {className: 'plain'})),
      element('p', {}, element('a', {href: '#/compare', onclick: () => this.dialog.close()}, 'Compare with what another token sees')));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#use(this.#input.value);
    });
    this.#input.addEventListener('input', () => this.#showClaims());
    this.dialog = element('dialog', {'aria-labelledby': 'token-title'}, form);
    bus.onChange(({fault}) => {
      this.#refused = fault?.status === 401;
      this.showWho();
    });
    caller.onChange(() => this.showWho());
    this.showWho();
    setInterval(() => this.showWho(), 1000); // a token may expire while the page is open
  }

  open() {
    this.#input.value = this.#caller.token;
    this.#showClaims();
    this.dialog.showModal();
    this.#input.select();
  }

  showWho() {
    const {token} = this.#caller;
    const claims = readClaims(token);
    const text = !token ? 'nobody' : claims ? `${nameOf(claims)}, ${expiryText(claims)}` : 'a token that is no JWT';
    const bad = token && (this.#refused || !(timeLeft(claims) > 0));
    const line = `Caller: ${text}`;
    if (this.button.textContent !== line) {
      this.button.textContent = line;
    }
    this.button.classList.toggle('bad', Boolean(bad));
  }

  #use(token) {
    this.dialog.close();
    this.#caller.change(token);
  }

  #showClaims() {
    this.#about.replaceChildren(claimsView(this.#input.value));
  }
}

/** The claims of a token, decoded but not verified. */
export function claimsView(token) {
  const bare = token.trim().replace(/^(authorization: *)?bearer +/i, '');
  if (!bare) {
    return element('p', {className: 'quiet'}, 'No token: you are nobody.');
  }
  const claims = readClaims(bare);
  if (!claims) {
    return element('p', {className: 'notice bad'}, 'This is no JWT.');
  }
  const rows = Object.entries(claims).map(([name, value]) => element('tr', {},
    element('th', {scope: 'row'}, element('code', {}, name)),
    element('td', {}, element('code', {}, JSON.stringify(value)), ['exp', 'nbf', 'iat'].includes(name) && dateView(value))));
  return element('div', {className: 'claims-table'},
    element('table', {}, element('caption', {}, 'Decoded here; nobody has verified it yet'), element('tbody', {}, ...rows)),
    element('p', {className: timeLeft(claims) < 0 ? 'notice bad' : 'quiet'}, `It ${expiryText(claims)}.`));
}

function dateView(seconds) {
  const date = new Date(seconds * 1000);
  return typeof seconds === 'number' && !Number.isNaN(date.getTime()) && element('span', {className: 'quiet'}, ` ${date.toLocaleString()}`);
}
