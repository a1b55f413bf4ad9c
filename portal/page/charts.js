import {element, newID} from './element.js';
import {durationText, rateText} from './mapdata.js';
import {Poller} from './poller.js';
import {svg} from './svg.js';

// The charts of a service: its calls and their durations in the last hour. They follow the portal while they are seen.

const hour = 3_600_000; // milliseconds
const joined = 1000; // milliseconds between two points without a gap
const recent = 30_000; // milliseconds for which a value is that of now
const [width, height] = [720, 100]; // of a picture, which is stretched

const noData =
  'No data yet. The portal measures while the page of a service or the map is open; the first point is there after some 10 seconds.';

/** The charts of the service that is shown. */
export class Charts {
  node = element('section', {'aria-label': 'Last hour', className: 'charts'});
  #host = '';
  #poller;
  #shown = null; // the latest answer, null for none

  constructor(caller) {
    this.#poller = new Poller('', caller, {
      watched: () => this.node.isConnected,
      apply: (answer) => this.#apply(answer),
      miss: (status, detail) => this.#miss(status, detail),
    });
    caller.onChange(() => {
      this.#clear();
      this.#poller.reset();
    });
  }

  /** Follows a service, whose page is in the document now. */
  show(host) {
    if (host === this.#host) {
      this.#poller.wake();
      return;
    }
    this.#host = host;
    this.#clear();
    this.#poller.turnTo(`chart.json?${new URLSearchParams({service: host})}`);
  }

  #clear() {
    this.#shown = null;
    this.node.hidden = false;
    this.node.classList.remove('stale');
    this.#say('Asking the bus …');
  }

  #apply(answer) {
    this.node.classList.remove('stale');
    this.node.hidden = false;
    if (answer !== this.#shown) {
      this.#shown = answer;
      this.#draw(...chartsView(answer));
    }
  }

  #draw(...views) {
    this.node.replaceChildren(element('h3', {}, 'Last hour'), ...views);
  }

  #say(text) {
    this.#draw(element('p', {className: 'quiet'}, text));
  }

  // What was seen stays, greyed out. Of a service that is not there, nothing is to be said.
  #miss(status, detail) {
    this.node.classList.toggle('stale', this.#shown !== null);
    this.node.hidden = status === 404 && !this.#shown;
    if (!this.#shown) {
      this.#say(`The figures cannot be read: ${detail}.`);
    }
  }
}

/** The charts in an answer of chart.json. */
function chartsView({taken, points}) {
  const read = points.map((point) => ({...point, from: Date.parse(point.from), to: Date.parse(point.to)}));
  const until = Date.parse(taken);
  const shown = read.filter(({to}) => to > until - hour);
  if (shown.length === 0) {
    return [element('p', {className: 'quiet'}, noData)];
  }
  const measured = shown.reduce((sum, {from, to}) => sum + to - Math.max(from, until - hour), 0);
  const minutes = Math.max(1, Math.round(measured / 60_000));
  return [
    element(
      'div',
      {className: 'chart-row'},
      chartView('Calls', shown, until, rateText, [
        {name: 'all', of: ({rate}) => rate},
        {name: 'failed', of: ({failedRate}) => failedRate},
      ]),
      chartView('Durations', shown, until, durationText, [
        {name: 'p99', of: ({p99}) => p99},
        {name: 'p50', of: ({p50}) => p50},
      ]),
    ),
    element(
      'p',
      {className: 'quiet'},
      `${minutes} of 60 minutes ${minutes === 1 ? 'is' : 'are'} measured. In grey times no page of a service or map was open, or it did not run.`,
    ),
  ];
}

/** One chart, with the same in words. Each series has a name, which is also its class, and a value of each point. */
function chartView(title, points, until, textOf, series) {
  const [titleID, wordsID] = [newID('chart'), newID('chart')];
  const values = series.flatMap(({of}) => points.map(of)).filter((value) => value !== undefined);
  const top = Math.max(0, ...values);
  const x = (time) => ((Math.max(time, until - hour) - until + hour) / hour) * width;
  const y = (value) => (value > 0 ? Math.min(height - 2, height - (value / top) * height) : height); // little is seen, too
  const lines = series.map(({name, of}) => {
    const runs = runsOf(points.filter((point) => of(point) !== undefined));
    return svg('path', {class: `chart-line ${name}`, d: runs.map((run) => steps(run, of, x, y)).join(' ')});
  });
  const gaps = gapsOf(points, until).map(([from, to]) =>
    svg('rect', {class: 'chart-gap', x: x(from).toFixed(1), y: 0, width: (x(to) - x(from)).toFixed(1), height}),
  );
  return element(
    'figure',
    {className: 'chart'},
    element(
      'figcaption',
      {},
      element('strong', {id: titleID}, title),
      ...series.map(({name}) => element('span', {className: `chart-key quiet ${name}`}, element('i'), name)),
    ),
    element('span', {className: 'quiet chart-top', 'aria-hidden': 'true'}, top > 0 ? textOf(top) : ''),
    svg(
      'svg',
      {
        role: 'img',
        'aria-labelledby': titleID,
        'aria-describedby': wordsID,
        viewBox: `0 -2 ${width} ${height + 4}`,
        preserveAspectRatio: 'none',
      },
      ...gaps,
      ...lines,
    ),
    element(
      'div',
      {className: 'quiet chart-axis', 'aria-hidden': 'true'},
      element('span', {}, timeText(until - hour)),
      element('span', {}, timeText(until)),
    ),
    element('p', {className: 'quiet', id: wordsID}, series.map(({name, of}) => wordsOf(name, points, of, until, textOf)).join(' ')),
  );
}

/** Points without gaps between them. */
function runsOf(points) {
  const runs = [];
  for (const point of points) {
    if (runs.length > 0 && point.from - runs.at(-1).at(-1).to <= joined) {
      runs.at(-1).push(point);
    } else {
      runs.push([point]);
    }
  }
  return runs;
}

/** The spans of the last hour without points. */
function gapsOf(points, until) {
  const ends = [until - hour, ...runsOf(points).flatMap((run) => [run[0].from, run.at(-1).to]), until];
  return ends.flatMap((from, at) => (at % 2 === 0 && ends[at + 1] - from > joined ? [[from, ends[at + 1]]] : []));
}

/** The path of a run, closed below, so that it can be filled. */
function steps(run, of, x, y) {
  const line = run.map((point) => `H ${x(point.from).toFixed(1)} V ${y(of(point)).toFixed(1)} H ${x(point.to).toFixed(1)}`);
  return `M ${x(run[0].from).toFixed(1)} ${height} ${line.join(' ')} V ${height} Z`;
}

/** "p50: now 1.2 ms, lowest 1.0 ms, highest 4.3 ms." */
function wordsOf(name, points, of, until, textOf) {
  const values = points.map(of).filter((value) => value !== undefined);
  if (values.length === 0) {
    return `${name}: no calls.`;
  }
  const last = points.at(-1);
  const now =
    until - last.to > recent ? `last measured at ${timeText(last.to)}` : `now ${of(last) === undefined ? 'no calls' : textOf(of(last))}`;
  return `${name}: ${now}, lowest ${textOf(Math.min(...values))}, highest ${textOf(Math.max(...values))}.`;
}

function timeText(time) {
  return new Date(time).toLocaleTimeString([], {hour: '2-digit', minute: '2-digit'});
}
