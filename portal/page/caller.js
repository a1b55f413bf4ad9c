import {button, element} from './element.js';

// Decodes tokens. They are not verified here: services do that.

/**
 * Decodes a JWT.
 * @returns {Object|null} its claims; null if it is not a JWT
 */
export function readClaims(token) {
  try {
    const part = token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(part), (character) => character.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder('utf-8', {fatal: true}).decode(bytes));
    return claims && typeof claims === 'object' && !Array.isArray(claims) ? claims : null;
  } catch {
    return null;
  }
}

/** A name, or something like one, for the bearer of the claims. */
export function nameOf(claims) {
  const named = [claims?.name, claims?.preferred_username, claims?.email, claims?.sub];
  return named.find((name) => typeof name === 'string' && name) || 'somebody';
}

/** Milliseconds until the claims expire, negative if they have; null if they have no expiry. */
export function timeLeft(claims) {
  return typeof claims?.exp === 'number' ? claims.exp * 1000 - Date.now() : null;
}

/** "expires in 59 min", "expired at 14:05:00": that stays true, where it is shown once. */
export function expiryText(claims) {
  const left = timeLeft(claims);
  if (left === null) {
    return 'does not say when it expires';
  }
  if (left <= 0) {
    const when = new Date(claims.exp * 1000);
    const today = when.toDateString() === new Date().toDateString();
    return `expired at ${today ? when.toLocaleTimeString() : when.toLocaleString()}`;
  }
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1000, 's'],
  ];
  const [length, name] = units.find(([unit]) => left >= unit) || units.at(-1);
  return `expires in ${Math.floor(left / length)} ${name}`;
}

/** Why a request is not sent. */
export class NotSent extends Error {
  name = 'NotSent';
}

/**
 * The identity for which calls are made and the bus is shown: that of a token, or an anonymous one. The token is kept
 * in this tab only, and is gone when the tab is closed.
 */
export class Caller {
  #name;
  #listeners = [];
  token;

  /** @param {string} name under which the tab stores the token */
  constructor(name) {
    this.#name = name;
    this.token = this.#stored();
  }

  /** Whether the token has expired, as it says itself. It is not sent then. */
  get expired() {
    return timeLeft(readClaims(this.token)) < 0;
  }

  /**
   * The headers that identify the caller. What no token has, and no header, is encoded: services refuse it.
   * @throws {NotSent} if the token has expired
   */
  get headers() {
    if (this.expired) {
      throw new NotSent(
        `Not sent: the token ${expiryText(readClaims(this.token))}. Change it under “Caller”, or remove it to call as nobody.`,
      );
    }
    return this.token ? {Authorization: `Bearer ${encodeURI(this.token.toWellFormed?.() ?? this.token)}`} : {};
  }

  /** Sets another token, "" for none, and notifies the listeners. */
  change(token) {
    const bare = token.trim().replace(/^(authorization: *)?bearer +/i, '');
    if (bare === this.token) {
      return;
    }
    this.token = bare;
    try {
      sessionStorage.setItem(this.#name, bare);
    } catch {
      /* see #stored */
    }
    for (const listener of this.#listeners) {
      listener();
    }
  }

  /** Calls listener after each change. */
  onChange(listener) {
    this.#listeners.push(listener);
  }

  #stored() {
    try {
      return sessionStorage.getItem(this.#name) || '';
    } catch {
      // the browser stores nothing: the token lasts until the page is reloaded
      return '';
    }
  }
}

/** The button in the header that shows the caller, and the panel in which the caller can be changed. */
export class TokenPanel {
  #login;
  #logsIn = element('div', {className: 'buttons', hidden: true});
  #said = element('p', {className: 'notice bad', role: 'alert', hidden: true});
  button;
  dialog;
  #caller;
  #bus;
  #refused = false;
  #expired = false;
  #input = element('input', {type: 'password', id: 'token', autocomplete: 'off', spellcheck: false, placeholder: 'eyJ…'});
  #about = element('div', {'aria-live': 'polite'});

  constructor(caller, bus, login) {
    this.#login = login;
    this.#caller = caller;
    this.#logsIn.append(
      button('Log in', () => this.#try(login.start())),
      button('Log out', () => this.#try(login.end()), {className: 'plain'}),
    );
    this.#bus = bus;
    this.button = button('', () => this.open(), {id: 'caller', className: 'caller', 'aria-haspopup': 'dialog'});
    const form = element(
      'form',
      {method: 'dialog'},
      element('h2', {id: 'token-title'}, 'Who calls'),
      element('p', {}, 'A token, a JWT, says who you are: what you see here depends on it, and what you may call. It stays in this tab.'),
      this.#said,
      this.#logsIn,
      element('div', {className: 'field'}, element('label', {htmlFor: 'token'}, 'Token'), this.#input),
      this.#about,
      element(
        'div',
        {className: 'buttons'},
        element('button', {type: 'submit', value: 'use'}, 'Use it'),
        button('Remove', () => this.#use(''), {className: 'plain'}),
        button('Cancel', () => this.dialog.close(), {className: 'plain'}),
      ),
      element('p', {}, element('a', {href: '#/compare', onclick: () => this.dialog.close()}, 'Compare with what another token sees')),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#use(this.#input.value);
    });
    this.#input.addEventListener('input', () => this.#showClaims());
    this.dialog = element('dialog', {'aria-labelledby': 'token-title'}, form);
    bus.onChange(({error}) => {
      this.#refused = error?.status === 401;
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
    this.#try(this.#offerLogin());
  }

  /** Shows what a login has failed with. */
  fail(error) {
    this.open();
    this.#say(`No login: ${error.message}`);
  }

  async #offerLogin() {
    this.#logsIn.hidden = !(await this.#login.configuration());
  }

  async #try(action) {
    this.#say('');
    await action.catch((error) => this.#say(error.message));
  }

  #say(text) {
    this.#said.textContent = text;
    this.#said.hidden = text === '';
  }

  showWho() {
    const {token, expired} = this.#caller;
    if (expired && !this.#expired) {
      this.#bus.poll(); // says so
    }
    this.#expired = expired;
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
  const rows = Object.entries(claims).map(([name, value]) =>
    element(
      'tr',
      {},
      element('th', {scope: 'row'}, element('code', {}, name)),
      element('td', {}, element('code', {}, JSON.stringify(value)), ['exp', 'nbf', 'iat'].includes(name) && dateView(value)),
    ),
  );
  return element(
    'div',
    {className: 'claims-table'},
    element('table', {}, element('caption', {}, 'Decoded here; nobody has verified it yet'), element('tbody', {}, ...rows)),
    element('p', {className: timeLeft(claims) < 0 ? 'notice bad' : 'quiet'}, `It ${expiryText(claims)}.`),
  );
}

function dateView(seconds) {
  const date = new Date(seconds * 1000);
  return typeof seconds === 'number' && !Number.isNaN(date.getTime()) && element('span', {className: 'quiet'}, ` ${date.toLocaleString()}`);
}
