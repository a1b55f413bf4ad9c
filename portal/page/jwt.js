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

/** "expires in 59 min", "expired 3 h ago". */
export function expiryText(claims) {
  const left = timeLeft(claims);
  if (left === null) {
    return 'does not say when it expires';
  }
  const size = Math.abs(left);
  const units = [[86_400_000, 'd'], [3_600_000, 'h'], [60_000, 'min'], [1000, 's']];
  const [length, name] = units.find(([unit]) => size >= unit) || units.at(-1);
  const text = `${Math.floor(size / length)} ${name}`;
  return left > 0 ? `expires in ${text}` : `expired ${text} ago`;
}
