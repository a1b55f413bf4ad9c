import {element} from './element.js';
import {viewHash} from './route.js';

/** A traceparent that begins a trace (W3C Trace Context), and the id of that: {field, id}. */
export function newTraceparent() {
  const id = hexadecimal(16);
  return {field: `00-${id}-${hexadecimal(8)}-01`, id};
}

function hexadecimal(bytes) {
  return [...crypto.getRandomValues(new Uint8Array(bytes))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The trace id in a text: an id or a whole traceparent; "" for none. */
export function traceIdOf(text) {
  const [, id = ''] =
    text
      .trim()
      .toLowerCase()
      .match(/^(?:[0-9a-f]{2}-)?([0-9a-f]{32})(?:-[0-9a-f]{16}-[0-9a-f]{2})?$/) || [];
  return /[^0]/.test(id) ? id : '';
}

/** A link to the trace of a call; null without an id. */
export function traceLink(id, label = 'Trace') {
  return id ? element('a', {href: viewHash('trace', id), className: 'trace-link', 'aria-label': label}, 'Trace') : null;
}
