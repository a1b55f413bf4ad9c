// The layout of the map: callers to the left of the services that they call. A service keeps its place as long as it is
// there, whoever comes and goes, so that nothing jumps.

/** The largest number of services in a column. */
const tallest = 14;

/** Places of nodes by name: {column, row}. They stay the same from one call to the next. */
export class Layout {
  #places = new Map();
  #ordered = 0; // by what they are: 2 for calls, 1 for events, 0 for neither

  /** Forgets all places. */
  clear() {
    this.#places.clear();
    this.#ordered = 0;
  }

  /** The columns in use. */
  get columns() {
    return [...this.#places.values()].map(({column}) => column);
  }

  /**
   * Gives every name a place, and returns all places.
   * @param {string[]} names of the nodes
   * @param {{from: string, to: string, kind: string}[]} edges
   */
  place(names, edges) {
    const ordered = edges.some(({kind}) => kind !== 'event') ? 2 : Math.min(1, edges.length);
    if (ordered > this.#ordered) {
      this.#places.clear(); // so far all are in one column, or ordered by events alone
      this.#ordered = ordered;
    }
    const present = new Set(names);
    for (const name of this.#places.keys()) {
      if (!present.has(name)) {
        this.#places.delete(name);
      }
    }
    const fresh = names.filter((name) => !this.#places.has(name));
    if (fresh.length === 0) {
      return this.#places;
    }
    const depths = depthsOf(names, edges);
    const first = this.#places.size === 0;
    const order = first ? byNeighbours(fresh, edges, depths) : [...fresh].sort();
    for (const name of order) {
      this.#places.set(name, this.#free(first ? depths.get(name) : this.#near(name, edges, depths)));
    }
    return this.#places;
  }

  // #near returns the column for a new node: left of those that it calls, right of those that call it.
  #near(name, edges, depths) {
    const columns = (of) => of.map((other) => this.#places.get(other)?.column).filter((column) => column !== undefined);
    const callers = columns(edges.filter(({to}) => to === name).map(({from}) => from));
    const callees = columns(edges.filter(({from}) => from === name).map(({to}) => to));
    if (callers.length > 0) {
      return Math.max(...callers) + 1;
    }
    if (callees.length === 0) {
      return depths.get(name);
    }
    if (Math.min(...callees) === 0) {
      this.#makeRoom();
      return 0;
    }
    return Math.min(...callees) - 1;
  }

  // #makeRoom moves all nodes one column to the right.
  #makeRoom() {
    for (const [name, {column, row}] of this.#places) {
      this.#places.set(name, {column: column + 1, row});
    }
  }

  // #free returns the first free place in a column, or in a later one if that is full.
  #free(column) {
    const occupied = new Set([...this.#places.values()].map((place) => `${place.column} ${place.row}`));
    for (; ; column++) {
      for (let row = 0; row < tallest; row++) {
        if (!occupied.has(`${column} ${row}`)) {
          return {column, row};
        }
      }
    }
  }
}

// depthsOf returns the length of the longest chain of calls that leads to each node, by name. A circle of calls is
// entered at the node that is farthest to the left, as if nobody to its right called it.
function depthsOf(names, edges) {
  const left = new Set([...names].sort()); // not placed yet
  const callees = new Map(names.map((name) => [name, []]));
  const callers = new Map(names.map((name) => [name, 0])); // how many of them are left
  for (const {from, to} of edges) {
    if (from !== to && left.has(from) && left.has(to)) {
      callees.get(from).push(to);
      callers.set(to, callers.get(to) + 1);
    }
  }
  const depths = new Map();
  const depth = (name) => depths.get(name) ?? Infinity;
  while (left.size > 0) {
    const rest = [...left];
    const next = rest.find((name) => callers.get(name) === 0) ?? rest.reduce((best, name) => (depth(name) < depth(best) ? name : best));
    left.delete(next);
    depths.set(next, depths.get(next) ?? 0);
    for (const callee of callees.get(next)) {
      callers.set(callee, callers.get(callee) - 1);
      if (left.has(callee)) {
        depths.set(callee, Math.max(depths.get(callee) ?? 0, depths.get(next) + 1));
      }
    }
  }
  return depths;
}

// byNeighbours sorts names so that callers and callees are close to each other in their columns: it moves each node to
// the mean position of its callers, twice.
function byNeighbours(names, edges, depths) {
  let order = [...names].sort();
  for (let round = 0; round < 2; round++) {
    const rank = new Map(order.map((name, at) => [name, at]));
    const mean = new Map(
      order.map((name) => {
        const ranks = edges.filter(({from, to}) => to === name && from !== name && rank.has(from)).map(({from}) => rank.get(from));
        return [name, ranks.length > 0 ? ranks.reduce((a, b) => a + b, 0) / ranks.length : rank.get(name)];
      }),
    );
    order = [...order].sort((a, b) => depths.get(a) - depths.get(b) || mean.get(a) - mean.get(b) || (a < b ? -1 : 1));
  }
  return order;
}
