// Converts the response of live.json to what the map shows: nodes, and edges, which are also the rows of the table.

/** The name for all hosts that nobody serves and whose names are withheld. */
export const nameless = '(nobody)';

/**
 * Parses a response: {nodes, edges, measured, leftOut}. An edge is {key, from, to, kind, figures, operations}; its kind
 * is the worst recent result of its calls: "failed", "refused", "busy", "idle", or "absent" if nobody serves the host.
 */
export function readLive(answer) {
  const nodes = new Map();
  const node = (name, kind) => {
    if (!nodes.has(name)) {
      nodes.set(name, {name, kind, instances: [], ports: [], figures: null});
    }
    return nodes.get(name);
  };
  for (const [host, {ports, instances, ...figures}] of Object.entries(answer.services)) {
    Object.assign(node(host, 'service'), {ports, instances, figures});
  }
  const edges = Object.values(answer.edges).map(({from, to, operations, ...figures}) => {
    node(from, 'outside');
    node(to, 'service');
    return {key: `${from} ${to}`, from, to, kind: kindOf(figures.recent), figures, operations};
  });
  for (const {from, to, calls, rate} of answer.lost) {
    node(from, 'outside');
    node(to || nameless, 'absent');
    const recent = {calls, rate, refused: 0, refusedRate: 0, failed: calls, failedRate: rate};
    const figures = {calls: null, refused: 0, failed: calls, recent};
    edges.push({key: `${from} ${to || nameless} lost`, from, to: to || nameless, kind: 'absent', figures, operations: []});
  }
  return {nodes: [...nodes.values()], edges, measured: answer.window, leftOut: answer.leftOut};
}

function kindOf(recent) {
  if (recent.failed > 0) {
    return 'failed';
  }
  return recent.refused > 0 ? 'refused' : recent.calls > 0 ? 'busy' : 'idle';
}

/** A rate per second, for people. */
export function rateText(rate) {
  if (rate === 0) {
    return '0/s';
  }
  return rate < 0.1 ? '<0.1/s' : `${rate < 10 ? rate.toFixed(1) : compactNumber(rate)}/s`;
}

/** A duration in seconds, for people: "1.2 ms". */
export function durationText(seconds) {
  if (seconds === undefined) {
    return '–';
  }
  if (seconds < 0.001) {
    return `${Math.round(seconds * 1e6)} µs`;
  }
  const milliseconds = seconds * 1000;
  return seconds < 1 ? `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms` : `${seconds.toFixed(1)} s`;
}

/** A count, for people: "12.3k". */
export function compactNumber(count) {
  return new Intl.NumberFormat('en', {
    notation: count < 10_000 ? 'standard' : 'compact',
    maximumFractionDigits: count < 10_000 ? 0 : 1,
  }).format(count);
}
