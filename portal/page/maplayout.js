// The layout of the map: callers to the left of the services that they call. A service keeps its place as long as it is
// there, whoever comes and goes, so that nothing jumps.

/** The largest number of services in a column. */
const tallest = 14;

/** Places of nodes by name: {column, row}. They stay the same from one call to the next. */
export class Layout {
  #places = new Map();
  #ordered = false; // there have been calls by which to order them

  /** Forgets all places. */
  clear() {
    this.#places.clear();
    this.#ordered = false;
  }

  /** The columns in use. */
  get columns() {
    return [...this.#places.values()].map(({column}) => column);
  }

  /**
   * Gives every name a place, and returns all places.
   * @param {string[]} names of the nodes
   * @param {{from: string, to: string}[]} edges
   */
  place(names, edges) {
    if (!this.#ordered && edges.length > 0) {
      this.#places.clear(); // so far there were no calls, and all are in one column
      this.#ordered = true;
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
    const taken = new Set([...this.#places.values()].map((place) => `${place.column} ${place.row}`));
    for (;; column++) {
      for (let row = 0; row < tallest; row++) {
        if (!taken.has(`${column} ${row}`)) {
          return {column, row};
        }
      }
    }
  }
}

// depthsOf returns the length of the longest chain of calls that leads to each node, by name. Cycles are cut where a
// node is met again.
function depthsOf(names, edges) {
  const callers = new Map(names.map((name) => [name, []]));
  for (const {from, to} of edges) {
    if (from !== to) {
      callers.get(to)?.push(from);
    }
  }
  const depths = new Map();
  const visiting = new Set();
  const visit = (name) => {
    if (depths.has(name)) {
      return depths.get(name);
    }
    if (visiting.has(name) || !callers.has(name)) {
      return -1;
    }
    visiting.add(name);
    const depth = 1 + Math.max(-1, ...callers.get(name).map(visit));
    visiting.delete(name);
    depths.set(name, depth);
    return depth;
  };
  [...names].sort().forEach(visit);
  return depths;
}

// byNeighbours sorts names so that callers and callees are close to each other in their columns: it moves each node to
// the mean position of its callers, twice.
function byNeighbours(names, edges, depths) {
  let order = [...names].sort();
  for (let round = 0; round < 2; round++) {
    const rank = new Map(order.map((name, at) => [name, at]));
    const mean = new Map(order.map((name) => {
      const ranks = edges.filter(({from, to}) => to === name && from !== name && rank.has(from)).map(({from}) => rank.get(from));
      return [name, ranks.length > 0 ? ranks.reduce((a, b) => a + b, 0) / ranks.length : rank.get(name)];
    }));
    order = [...order].sort((a, b) => depths.get(a) - depths.get(b) || mean.get(a) - mean.get(b) || (a < b ? -1 : 1));
  }
  return order;
}
