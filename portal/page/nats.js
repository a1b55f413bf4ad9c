import {compact} from './json.js';
import {shellQuote} from './shell.js';

// What a NATS client sends according to the wire protocol.

const fromHost = 'shell';
const fromID = `n${[...randomBytes(9)].map((byte) => (byte % 36).toString(36)).join('')}`; // the instance to which the response is sent

/**
 * The commands that make a call with the NATS command line: one that subscribes to the response subject, and one that
 * sends. A single command cannot do it: both an ack and a response arrive on a subject that the sender names in the
 * request.
 */
export function natsSnippet(request, {plane, secured}) {
  const responses = `${plane}.r.${fromHost}.${fromID}`;
  const head = [
    `${request.method === 'HEAD' ? 'GET' : request.method} ${request.path}${request.query} HTTP/1.1`,
    `Host: ${request.host}`,
    'Bus-Call-Depth: 1',
    `Bus-From-Host: ${fromHost}`,
    `Bus-From-Id: ${fromID}`,
    `Bus-Msg-Id: ${newMessageID()}`,
    'Bus-Op-Code: Req',
    'Bus-Time-Budget: 20000',
    ...Object.entries(request.headers).map((field) => field.join(': ')),
  ];
  const body = request.body === undefined ? '' : compact(request.body);
  if (body) {
    head.push(`Content-Length: ${new TextEncoder().encode(body).length}`, `Content-Type: ${request.type}`);
  }
  const words = [shellQuote(body)];
  if (secured) {
    head.push('Bus-Actor: %s');
    words.unshift('"$TOKEN"');
  }
  const fixed = head.map((line) => (line === 'Bus-Actor: %s' ? line : line.replaceAll('\\', '\\\\').replaceAll('%', '%%')));
  const format = shellQuote(`${fixed.join('\\r\\n')}\\r\\n\\r\\n%s`);
  const literally = head.concat(body).some((text) => text.includes('{{')) ? ' --no-templates' : '';
  return (
    `nats sub ${shellQuote(responses)}\n` +
    `printf ${format} ${words.join(' ')} | nats pub --force-stdin${literally} ${shellQuote(subjectOf(request, plane))}`
  );
}

/** The subject of a request: bus.443.example.calculator.|.POST.add */
export function subjectOf({method, host, port, path, to}, plane) {
  const one = /^[a-z]/.test(to) ? `.${to}` : '';
  const name = one ? host.slice(to.length + 1) : host;
  const reversed = name.split('.').reverse().join('.');
  const tokens = path.replace(/^\//, '').split('/').map(tokenOf);
  return `${plane}.${port}.${reversed}${one}.|.${method === 'HEAD' ? 'GET' : method}.${tokens.join('.')}`;
}

/** A path segment as a token of a subject: all bytes except letters, digits, "-", "_" and "~" as % and two digits. */
function tokenOf(segment) {
  if (segment === '') {
    return '%';
  }
  let decoded = segment;
  try {
    decoded = decodeURIComponent(segment);
  } catch {
    /* it stays what it is */
  }
  return [...new TextEncoder().encode(decoded)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[A-Za-z0-9_~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

function randomBytes(count) {
  return crypto.getRandomValues(new Uint8Array(count));
}

function newMessageID() {
  return [...randomBytes(16)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
