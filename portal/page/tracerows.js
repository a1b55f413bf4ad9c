import {arrange, button, element, isolated, newID, pluralize, printable} from './element.js';
import {bytesText} from './eventfigures.js';
import {textView} from './json.js';
import {compactNumber, durationText} from './mapdata.js';
import {statusView} from './response.js';
import {svg} from './svg.js';
import {callAddress, isEvent, isFromLog} from './tracecalls.js';
import {momentOf} from './tracedata.js';

// The waterfall of a trace: a row for each call, with a bar of its time.

const mostRows = 100; // at first
const mostChildren = 50; // of a row, at a time
const mostIndent = 12;
const mostPauses = 20; // that are marked

/** A table of the calls below a root. */
export class Waterfall {
  node;
  #root;
  #bus;
  #body = element('tbody');

  /** @param {{state: Object}} bus which knows what is called */
  constructor(root, name, bus) {
    this.#root = root;
    this.#bus = bus;
    this.node = element(
      'table',
      {className: 'waterfall'},
      element('caption', {}, name + pausesText(root.axis)),
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          element('th', {scope: 'col'}, 'Call'),
          element('th', {scope: 'col', className: 'axis'}, element('span', {}, '0'), element('span', {}, durationText(root.span / 1000))),
          ...['Took', 'Time budget', 'Status'].map((title) => element('th', {scope: 'col'}, title)),
        ),
      ),
      this.#body,
    );
    unfold(root);
    this.#draw();
  }

  /** Draws the rows that are not folded. Those that are there stay. */
  #draw() {
    const lines = [];
    const next = [this.#root];
    while (next.length > 0) {
      const row = next.pop();
      if (row instanceof Node) {
        lines.push(row);
        continue;
      }
      row.view ||= this.#rowView(row);
      lines.push(...row.view.lines);
      row.view.fold?.setAttribute('aria-expanded', String(row.shown > 0));
      const shown = row.children.slice(0, row.shown);
      if (row.shown > 0 && shown.length < row.children.length) {
        next.push(this.#moreView(row));
      }
      next.push(...shown.reverse());
    }
    arrange(this.#body, lines);
  }

  #rowView(row) {
    const {call, client, server, depth, children, count, status} = row;
    const about = printable(`${call.to} ${call.method} ${call.path}`);
    const details = element('tr', {className: 'details', id: newID('call'), hidden: true}, element('td', {colSpan: 5}));
    const open = button('Details', () => this.#open(row, open, details), {
      className: 'call small',
      'aria-label': `Details of ${about}`,
      'aria-expanded': 'false',
      'aria-controls': details.id,
    });
    const address = () => callAddress(this.#bus.state, call);
    const link = element('a', {href: address()}, element('strong', {}, isolated(call.to)), ' ', isolated(methodText(call)));
    link.addEventListener('click', () => {
      link.href = address(); // the description may have come after the trace
    });
    const fold =
      children.length === 0
        ? null
        : button('', () => this.#fold(row), {className: 'toggle', 'aria-label': `Calls of ${about}, ${compactNumber(count)}`});
    const cell = (label, ...inside) => element('td', {'data-label': label}, ...inside);
    const head = element(
      'th',
      {scope: 'row'},
      element('span', {className: 'visually-hidden'}, `Level ${depth + 1}: `),
      element(
        'div',
        {className: 'tree'},
        fold || element('span', {className: 'toggle'}),
        element('div', {}, link, ' ', open, element('p', {className: 'quiet'}, ...whoTexts(row, this.#bus.state)), whyView(row)),
      ),
    );
    head.style.setProperty('--depth', Math.min(depth, mostIndent));
    const line = element(
      'tr',
      {className: status >= 500 ? 'has-failed' : ''},
      head,
      cell(
        'When',
        barView(row, this.#root),
        element('p', {className: 'facts'}, row.most && mostView(row), ' ', ...factTexts(row, this.#bus.state)),
      ),
      cell('Took', durationText(row.took / 1e9)),
      cell('Time budget', budgetText(server || client)),
      cell(
        'Status',
        statusView(status),
        status >= 400 &&
          element('span', {className: 'failed'}, `${status >= 500 ? ' failed' : ' refused'}${row.outlived ? ' for its caller' : ''}`),
      ),
    );
    return {lines: [line, details], fold};
  }

  #open(row, open, details) {
    if (details.hidden && !details.firstChild.firstChild) {
      details.firstChild.append(detailsView(row));
    }
    details.hidden = !details.hidden;
    open.setAttribute('aria-expanded', String(!details.hidden));
  }

  #fold(row) {
    row.shown = row.shown > 0 ? 0 : mostChildren;
    this.#draw();
  }

  #moreView(row) {
    const rest = row.children.length - row.shown;
    const more = button(`Show more calls of ${row.call.to}: ${compactNumber(rest)} are not shown`, () => {
      row.shown += mostChildren;
      const [first] = row.children.slice(row.shown - mostChildren);
      this.#draw();
      first.view.lines[0].querySelector('button').focus();
    });
    more.className = 'small';
    return element('tr', {className: 'more-calls'}, element('td', {colSpan: 5}, more));
  }
}

/** Shows the children of the first rows, breadth first, so that a deep and a wide tree both show their beginning. */
function unfold(root) {
  const next = [root];
  let count = 1;
  for (let at = 0; at < next.length; at++) {
    const row = next[at];
    row.shown = Math.min(row.children.length, mostChildren, mostRows - count);
    count += row.shown;
    next.push(...row.children.slice(0, row.shown));
  }
}

export function methodText({method, path, port}) {
  return printable(`${method} ${port === 443 ? '' : `:${port}`}${path}`);
}

/** Who has called, and which instance has answered. */
function whoTexts(row, bus) {
  const {client, server, call} = row;
  return [
    'from ',
    isolated(call.from),
    call.toId && [', instance ', element('code', {}, isolated(call.toId))],
    !server && !client.multicast && '; the callee has no record',
    !client && causeText(row, bus),
  ]
    .flat()
    .filter(Boolean);
}

/** How a row without a record of the caller has come. */
function causeText({call, depth, isReached}, bus) {
  if (isReached) {
    return '; one of the instances that the call above has reached';
  }
  if (isFromLog(bus, call)) {
    return '; delivered later from the log';
  }
  if (isEvent(call)) {
    return depth === 0 && '; the publisher has no record';
  }
  return '; the caller has no record';
}

/** The error of a call in one line, which the details have in full. */
function whyView({client, server}) {
  const error = server?.error || client?.error;
  return error && element('p', {className: 'why'}, isolated(error));
}

/** Says what the axis leaves out, "" for nothing. */
function pausesText({pauses}) {
  const texts = pauses.map(({from, to}) => durationText((to - from) / 1000));
  return texts.length > 0 ? `; cut out of the axis, where nothing ran: ${texts.slice(0, 5).join(', ')}${texts.length > 5 ? ' …' : ''}` : '';
}

/** What is unusual about a call. */
function factTexts({client, server, call, before, outlived}, bus) {
  const again = before && (before.server.toId === server.toId || isFromLog(bus, server));
  const texts = [
    again && 'delivered again',
    client?.attempts > 1 && pluralize(client.attempts, 'attempt'),
    client?.multicast && (isEvent(client) ? 'an event' : pluralize(client.answers ?? 0, 'answer')),
    call.stream && ['a stream', bodiesText(call)].filter(Boolean).join(': '),
    client?.error && client.executed === 'unknown' && 'not known whether it ran',
    outlived && `the callee ended with ${server.status} after the caller had given up`,
    client && server && !outlived && client.status !== server.status && `the caller got ${client.status}`,
    client && server && [client, server].some((side) => side.gap) && 'something is missing in between',
  ].filter(Boolean);
  return texts.length > 0 ? [texts.join(', ')] : [];
}

/** "1.2 KiB to it, 7 B from it", as far as it is known. */
function bodiesText({requestBytes, responseBytes}) {
  return [requestBytes && `${bytesText(Number(requestBytes))} to it`, responseBytes && `${bytesText(Number(responseBytes))} from it`]
    .filter(Boolean)
    .join(', ');
}

/** How long a row takes by itself, and where: "151 ms in the handler". */
export function ownText({own}) {
  const where = {handler: 'in the handler', way: 'on the way, or waiting', unknown: 'which the callee says nothing of'}[own.where];
  return `${durationText(own.nanoseconds / 1e9)} ${where}`;
}

function mostView(row) {
  return element('strong', {className: 'most-time'}, `Most time here: ${ownText(row)}`);
}

function budgetText({budget, left}) {
  if (!(budget > 0)) {
    return '–';
  }
  const rest = Number(left ?? 0) / 1e9;
  return `${durationText(Number(budget) / 1e9)}, ${rest < 0 ? `${durationText(-rest)} over` : `${durationText(rest)} left`}`;
}

/** The time of the caller as an outline, that of the callee filled. */
function barView({client, server, status}, {axis}) {
  const bar = svg('svg', {class: status >= 500 ? 'bar failed' : 'bar', 'aria-hidden': 'true', width: '100%', height: 14});
  const share = (moment) => (axis.length > 0 ? axis.at(moment) / axis.length : 0);
  const place = (record) => {
    const began = momentOf(record.began);
    const width = axis.length > 0 ? share(began + Number(record.took) / 1e6) - share(began) : 1;
    const x = Math.min(0.995, Math.max(0, share(began)));
    return {x: `${(x * 100).toFixed(3)}%`, width: `${(Math.min(1 - x, Math.max(0.005, width)) * 100).toFixed(3)}%`};
  };
  for (const {from, to} of axis.pauses.slice(0, mostPauses)) {
    const x = `${((share(from) + share(to)) * 50).toFixed(3)}%`;
    bar.append(svg('line', {class: 'pause', x1: x, x2: x, y1: 0, y2: 14}));
  }
  if (client) {
    bar.append(svg('rect', {class: 'client', y: 1, height: 12, ...place(client)}));
  }
  if (server) {
    bar.append(svg('rect', {class: 'server', y: 3, height: 8, ...place(server)}));
  }
  return bar;
}

/** All that is known of a call. */
function detailsView({client, server}) {
  const view = element('div', {className: 'call-details'});
  for (const [side, title] of [
    [server, 'Of the callee'],
    [client, 'Of the caller'],
  ]) {
    if (side) {
      view.append(element('section', {'aria-label': title}, element('h4', {}, title), ...sideView(side)));
    }
  }
  return view;
}

function sideView(side) {
  const shift = Math.round(Number(side.shift ?? 0) / 1e6);
  const rows = [
    ['Began', new Date(momentOf(side.began)).toISOString()],
    ['Took', durationText(Number(side.took) / 1e9)],
    ['From', `${side.from}, instance ${side.fromId}`],
    ['To', side.toId ? `${side.to}, instance ${side.toId}` : side.to],
    ['Time budget', side.budget > 0 && budgetText(side)],
    ['Executed', (side.error && {yes: 'yes, the handler ran', no: 'no, no handler has run'}[side.executed]) || (side.error && 'not known')],
    ['Attempts', side.attempts > 1 && String(side.attempts)],
    ['Body', bodiesText(side)],
    ['Message', side.msgId],
    ['Span', side.spanId],
    ['Gap', side.gap],
    ['Clock', shift !== 0 && `that of this machine is ${Math.abs(shift)} ms ${shift < 0 ? 'ahead' : 'behind'}; the beginning is corrected`],
  ].filter(([, text]) => text);
  return [
    side.error && element('p', {className: 'notice bad'}, isolated(side.error)),
    element(
      'dl',
      {className: 'event-facts'},
      ...rows.flatMap(([name, text]) => [element('dt', {}, name), element('dd', {}, isolated(text))]),
    ),
    side.lines?.length > 0 &&
      textView(
        [side.linesBefore > 0 && `… ${pluralize(side.linesBefore, 'line')} before`, ...side.lines].filter(Boolean).join('\n'),
        'Log lines of the handler',
      ),
  ].filter(Boolean);
}
