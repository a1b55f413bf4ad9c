import {goSnippet} from './golang.js';
import {compact} from './json.js';
import {natsSnippet} from './nats.js';
import {addressOf, allInstances} from './request.js';
import {shellQuote} from './shell.js';

/**
 * The same call for other tools: [{name, about, text}].
 * @param {{server: string, plane: string, secured: boolean}} bus the context of the call; secured if there is a token
 */
export function snippets(operation, request, bus) {
  const toAll = request.to === allInstances;
  return [
    {
      name: 'curl',
      about: toAll ? 'HTTP reaches one instance; the first to answer.' : '',
      text: curl(operation, request, bus.secured),
    },
    {name: 'Go', about: '', text: goSnippet(operation, request, bus.secured)},
    {
      name: 'NATS',
      about: 'What travels on the bus is HTTP text. The first line shows the ack and the response, in one terminal;'
        + ' the second sends the request, in another.',
      text: natsSnippet(request, bus),
    },
  ];
}

/** The line that makes the call from a shell. The token is a secret and must not appear in a terminal. */
function curl(operation, request, secured) {
  const words = ['curl', '-i'];
  const usual = request.body === undefined ? 'GET' : 'POST';
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
  if (secured) {
    words.push('-H', '"Authorization: Bearer $TOKEN"');
  }
  return words.join(' ');
}
