import {element, pluralize} from './element.js';
import {compactNumber} from './mapdata.js';

// Figures of stored events, in words.

/** "12.3 MiB". */
export function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const at = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(bytes || 1) / 10)));
  return `${(bytes / 1024 ** at).toFixed(at === 0 || bytes % 1024 ** at === 0 ? 0 : 1)} ${units[at]}`;
}

/** A span of time, given in seconds: "7 days". */
export function spanText(seconds) {
  const [length, name] = [
    [86_400, 'day'],
    [3600, 'hour'],
    [60, 'minute'],
    [1, 'second'],
  ].find(([unit]) => seconds >= unit) || [1, 'second'];
  const count = Math.floor(seconds / length);
  return pluralize(count, name);
}

/** A moment, with how long ago that is at the given time; "never" for none. */
export function momentView(moment, now) {
  if (!moment) {
    return 'never';
  }
  const seconds = Math.max(0, (new Date(now) - new Date(moment)) / 1000);
  return element(
    'time',
    {dateTime: moment, title: new Date(moment).toLocaleString()},
    seconds < 1 ? 'just now' : `${spanText(seconds)} ago`,
  );
}

/** The log of a publisher, as far as an event is concerned. stored and rate are of the event. */
export function logView({log, stored, rate}, now) {
  return definitions(
    [
      ['Stored', `${compactNumber(stored)} of this event, ${rate === null ? rateOf(rate) : `${rateOf(rate)} recently`}`],
      ['Whole log', `${pluralize(log.events, 'event', compactNumber)}, ${sizeText(log)}`],
      ['Kept', log.maxAge > 0 ? `for ${spanText(log.maxAge)} at most` : 'without an age limit'],
      log.bytes !== null && ['Oldest', momentView(log.first, now)],
      log.bytes !== null && ['Newest', momentView(log.last, now)],
      ['Replicas', String(log.replicas)],
    ].filter(Boolean),
  );
}

/** How large a log is, and may become. The size is not known if some of its events are not for the caller. */
function sizeText({bytes, maxBytes}) {
  const bound = maxBytes > 0 ? bytesText(maxBytes) : 'any size';
  return bytes === null ? `${bound} at most` : `${bytesText(bytes)} of ${bound}`;
}

/** What a service has of an event that is stored for it. */
export function subscriptionView(subscription, now) {
  const {backlog, oldest, inFlight, redelivered, waiting, deadLetters, lastHandled, rate, ordered} = subscription;
  return definitions([
    ['Backlog', compactNumber(backlog), backlog > 0 && 'refused'],
    ['Oldest', oldest ? momentView(oldest, now) : 'none'],
    ['In flight', compactNumber(inFlight)],
    ['Redelivered', compactNumber(redelivered)],
    ['Handled', rateOf(rate)],
    ['Last handled', lastHandled ? momentView(lastHandled, now) : 'not known'],
    ['Waiting requests', waiting > 0 ? compactNumber(waiting) : '0: probably, no instance runs', waiting === 0 && 'refused'],
    ['Dead letters', compactNumber(deadLetters), deadLetters > 0 && 'failed'],
    ['Order', ordered ? 'by key' : 'none'],
  ]);
}

/** The events that the log has dropped before a service could handle them. */
export function cutOffView(cutOff) {
  return (
    cutOff.length > 0 &&
    element(
      'div',
      {className: 'notice bad'},
      element('strong', {}, 'The log has dropped events before they were handled'),
      element(
        'ul',
        {},
        ...cutOff.map(({at, events, until}) =>
          element(
            'li',
            {},
            `${new Date(at).toLocaleString()}: about ${compactNumber(events)}, stored before ${new Date(until).toLocaleString()}`,
          ),
        ),
      ),
    )
  );
}

/** A rate per second, for people who read: "0.2 per second"; null is one that is not known yet. */
export function rateOf(rate) {
  if (rate === null) {
    return 'not measured yet';
  }
  return rate > 0 && rate < 0.1 ? 'less than 0.1 per second' : `${Number(rate.toFixed(rate < 10 ? 1 : 0))} per second`;
}

function definitions(rows) {
  return element(
    'dl',
    {className: 'event-figures'},
    ...rows.map(([name, value, level]) => element('div', {}, element('dt', {}, name), element('dd', {className: level || ''}, value))),
  );
}
