import {eventHash, operationHash, serviceHash} from './route.js';

// What the description of the bus knows of the calls of a trace.

const eventPort = 417; // of bus/subject

/** Reports whether a call is an event. */
export function isEvent({port}) {
  return port === eventPort;
}

/** The address of the operation or the event of a call; that of the service if it is not described. */
export function callAddress({services, events}, call) {
  const event = isEvent(call) && events.get(eventID(call));
  if (event) {
    return eventHash(event, call.side === 'server' ? call.to : '');
  }
  const found = (services.find(({host}) => host === call.to)?.operations || []).filter(
    ({port, method, path}) => port === String(call.port) && method === call.method.toLowerCase() && matches(path, call.path),
  );
  const variables = ({path}) => path.split('{').length;
  const [operation] = found.sort((a, b) => variables(a) - variables(b));
  return operation ? operationHash(operation) : serviceHash(call.to);
}

/** Reports whether a record of a subscriber is of a delivery from the log. */
export function isFromLog({events}, call) {
  return events.get(eventID(call))?.subscribers.some(({service, durable}) => durable && service === call.to) === true;
}

/** The publisher of an event is what a subscriber was called by. */
function eventID({side, from, to, path}) {
  return `${side === 'server' ? from : to}${path}`;
}

function matches(template, path) {
  const [parts, given] = [template.split('/'), path.split('/')];
  const rest = parts.at(-1).endsWith('+}') && given.length > parts.length;
  return (rest || parts.length === given.length) && parts.every((part, at) => part.startsWith('{') || part === given[at]);
}
