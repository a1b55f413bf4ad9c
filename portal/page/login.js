import {readClaims, timeLeft} from './caller.js';

// The login at an OpenID provider: the authorization code flow with PKCE, of a client without a secret. The ID token
// becomes that of the caller.

const storedAt = 'login'; // in the tab, from the redirect to the provider until the one back
const requestTimeout = 12_000; // milliseconds

/** Where the users of this portal log in, and how. */
export class Login {
  #caller;

  constructor(caller) {
    this.#caller = caller;
  }

  /** Returns {issuer, clientId, scopes}; null if the portal has no login. */
  async configuration() {
    const found = await json('login.json', 'the portal');
    return found.issuer ? found : null;
  }

  /** Sends the browser to the provider. Throws an error that says why it cannot. */
  async start() {
    if (!crypto.subtle) {
      throw new Error('A login needs HTTPS, or a loopback address.');
    }
    const configuration = await this.configuration();
    const provider = await discover(configuration);
    const attempt = {state: random(), nonce: random(), verifier: random(), hash: location.hash};
    sessionStorage.setItem(storedAt, JSON.stringify(attempt));
    const address = new URL(provider.authorization_endpoint);
    for (const [name, value] of Object.entries({
      response_type: 'code',
      client_id: configuration.clientId,
      redirect_uri: pageAddress(),
      scope: configuration.scopes.join(' '),
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await challenge(attempt.verifier),
      code_challenge_method: 'S256',
    })) {
      address.searchParams.set(name, value);
    }
    location.assign(address);
  }

  /**
   * Completes a login if the provider has sent the browser back, and returns whether it has. Throws an error that says
   * why there is no token.
   */
  async complete() {
    const answer = new URLSearchParams(location.search);
    if (!answer.has('state') || !(answer.has('code') || answer.has('error'))) {
      return false;
    }
    const attempt = JSON.parse(sessionStorage.getItem(storedAt) || 'null');
    sessionStorage.removeItem(storedAt); // it is for one answer
    history.replaceState(null, '', pageAddress() + (attempt?.hash ?? location.hash)); // no code stays in the address
    if (!attempt || attempt.state !== answer.get('state')) {
      throw new Error('The answer is to no login of this tab.');
    }
    if (answer.has('error')) {
      throw new Error([answer.get('error'), answer.get('error_description')].filter(Boolean).join(': '));
    }
    const configuration = await this.configuration();
    this.#caller.change(await exchange(configuration, answer.get('code'), attempt));
    return true;
  }

  /** Removes the token, and ends the session at the provider if that can be asked for. */
  async end() {
    this.#caller.change('');
    const configuration = await this.configuration();
    const {end_session_endpoint: end} = await discover(configuration);
    if (end) {
      const address = new URL(end);
      address.searchParams.set('client_id', configuration.clientId);
      address.searchParams.set('post_logout_redirect_uri', pageAddress());
      location.assign(address);
    }
  }
}

/** The address of the page, to which the provider redirects. */
function pageAddress() {
  return location.origin + location.pathname;
}

async function discover({issuer}) {
  const provider = await json(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, issuer);
  if (provider.issuer !== issuer) {
    throw new Error(`The provider calls itself ${provider.issuer}, and the portal has ${issuer}.`);
  }
  for (const name of ['authorization_endpoint', 'token_endpoint']) {
    if (!/^https?:/.test(provider[name])) {
      throw new Error(`The provider has no ${name}.`);
    }
  }
  if (new URL(provider.token_endpoint).origin !== new URL(issuer).origin) {
    throw new Error(`The page may not call ${provider.token_endpoint}: it has another origin than the issuer.`);
  }
  return provider;
}

/** Returns the ID token for a code. */
async function exchange(configuration, code, {verifier, nonce}) {
  const {issuer, clientId} = configuration;
  const {token_endpoint: endpoint} = await discover(configuration);
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: pageAddress(),
    client_id: clientId,
    code_verifier: verifier,
  });
  const {id_token: token = ''} = await json(endpoint, issuer, {method: 'POST', body});
  const claims = readClaims(token);
  const wrong = [
    !claims && 'it is no JWT',
    claims?.nonce !== nonce && 'its nonce is not that of this login',
    claims?.iss !== issuer && 'its issuer is another one',
    ![claims?.aud].flat().includes(clientId) && 'it is for another client',
    !(timeLeft(claims) > 0) && 'it has expired',
  ].find(Boolean);
  if (wrong) {
    throw new Error(`The ID token is not used: ${wrong}.`);
  }
  return token;
}

async function json(address, who, options = {}) {
  let response;
  try {
    response = await fetch(address, {...options, credentials: 'omit', signal: AbortSignal.timeout(requestTimeout)});
  } catch {
    throw new Error(`${who} does not answer, or does not allow pages of this origin (CORS).`);
  }
  const value = await response.json().catch(() => null);
  if (!response.ok || typeof value !== 'object' || value === null) {
    throw new Error(`${who} answers ${response.status} ${value?.error_description || value?.error || value?.detail || ''}`.trim());
  }
  return value;
}

/** 256 random bits as text. */
function random() {
  return base64(crypto.getRandomValues(new Uint8Array(32)));
}

/** The challenge of a verifier (RFC 7636, S256). */
async function challenge(verifier) {
  return base64(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))));
}

function base64(bytes) {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
