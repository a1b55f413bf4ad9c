// What the picture of the map shows of a large bus: first the services that fail, then the busiest, each with one that
// it has to do with.

const few = {nodes: 60, lines: 150}; // are all drawn
const mostNodes = 36; // of more, so that the lines can be followed
const mostLines = 80;

/**
 * Selects what is drawn. What is drawn already stays, unless something else fails or is far busier, so that the picture
 * does not jump.
 */
export class Selection {
  #drawn = new Set(); // names of nodes and keys of lines

  /**
   * Returns {nodes, edges, flows}: all if they are few; otherwise none without an edge or a flow, unless the user
   * searches for it.
   * @param {{nodes: Object[], edges: Object[], flows: Object[]}} shown
   * @param {function(string): boolean} searched whether the user searches for a node of this name
   */
  of({nodes, edges, flows}, searched) {
    const lines = [...edges, ...flows];
    if (nodes.length <= few.nodes && lines.length <= few.lines) {
      return {nodes, edges, flows};
    }
    const ranked = this.#ranked(lines.map((line) => ({name: line.key, searched: false, fails: fails(line), rate: rateOf(line), line}))).map(
      ({line}) => line,
    );
    const names = new Set();
    for (const {name, partner} of this.#ranked(sumsOf(nodes, ranked, searched))) {
      const fresh = [name, partner].filter((one) => one && !names.has(one));
      if (names.size + fresh.length <= mostNodes) {
        for (const one of fresh) {
          names.add(one);
        }
      }
    }
    const drawn = new Set(
      ranked
        .filter(({from, to}) => names.has(from) && names.has(to))
        .slice(0, mostLines)
        .map(({key}) => key),
    );
    this.#drawn = new Set([...names, ...drawn]);
    const isDrawn = ({key}) => drawn.has(key);
    return {nodes: nodes.filter(({name}) => names.has(name)), edges: edges.filter(isDrawn), flows: flows.filter(isDrawn)};
  }

  #ranked(list) {
    const advantage = 2; // of what is drawn already
    const rank = ({name, rate}) => rate * (this.#drawn.has(name) ? advantage : 1);
    return list.sort(
      (a, b) =>
        b.searched - a.searched ||
        b.fails - a.fails ||
        rank(b) - rank(a) ||
        this.#drawn.has(b.name) - this.#drawn.has(a.name) ||
        (a.name < b.name ? -1 : 1),
    );
  }
}

/**
 * What is known of nodes: {name, searched, fails, rate, partner}; the partner is at the other end of the first line.
 */
function sumsOf(nodes, lines, searched) {
  const sums = new Map(nodes.map(({name}) => [name, {name, searched: searched(name), fails: false, rate: 0, partner: ''}]));
  for (const line of lines) {
    const [from, to] = [sums.get(line.from), sums.get(line.to)];
    to.fails ||= fails(line);
    for (const [sum, other] of [
      [from, to],
      [to, from],
    ]) {
      sum.rate += rateOf(line);
      sum.partner ||= other.name;
    }
  }
  return [...sums.values()].filter((sum) => sum.partner || sum.searched);
}

function fails({kind, deadLetters}) {
  return kind === 'failed' || kind === 'absent' || deadLetters > 0;
}

function rateOf({kind, rate, figures}) {
  return kind === 'event' ? (rate ?? 0) : figures.recent.rate;
}

/** Says what the picture leaves out, "" for nothing. */
export function leftOutText(shown, drawn) {
  const lines = ({edges, flows}) => [...edges, ...flows];
  if (shown.nodes.length === drawn.nodes.length && lines(shown).length === lines(drawn).length) {
    return '';
  }
  const joined = new Set(lines(shown).flatMap(({from, to}) => [from, to]));
  const alone = shown.nodes.length - joined.size;
  return [
    drawn.nodes.length > 0 && `The picture shows ${drawn.nodes.length} of ${shown.nodes.length}: what fails, then the busiest.`,
    alone > 0 && `${alone} without calls ${alone === 1 ? 'is' : 'are'} counted only.`,
    'Filter by a name for its callers and callees. The tables have all.',
  ]
    .filter(Boolean)
    .join(' ');
}
