import {compactNumber} from './mapdata.js';

// Which services of the map are in trouble, and how that is said and drawn.

/** The share of recent calls with a status of 500 and above from which a service counts as failing. */
export const failingShare = 0.05;

const goneLasts = 120_000; // milliseconds for which the map keeps a service that has left

/**
 * The state of a node: {level, text}; level is "gone", "failing", "unready", "failed" for few errors, or "" for none.
 * text is "" then.
 */
export function healthOf({kind, instances, figures, runs, goneSince}) {
  if (goneSince) {
    return {level: 'gone', text: `gone since ${new Date(goneSince).toLocaleTimeString()}`};
  }
  if (kind === 'absent' || (kind === 'service' && instances.length === 0) || (kind === 'events' && !runs)) {
    return {level: 'gone', text: kind === 'events' ? 'does not run' : 'no instance serves it'};
  }
  const {calls = 0, failed = 0} = figures?.recent || {};
  const share = calls > 0 ? failed / calls : 0;
  if (share >= failingShare) {
    return {level: 'failing', text: `failing: ${Math.round(share * 100)} % of calls`};
  }
  const unready = instances.filter(({notReady}) => notReady).length;
  if (unready > 0) {
    return {level: 'unready', text: unready === instances.length ? 'not ready' : `${unready} of ${instances.length} not ready`};
  }
  return failed > 0 ? {level: 'failed', text: `${compactNumber(failed)} failed`} : {level: '', text: ''};
}

/** The shapes of the states, in a box of 16 by 16: they differ without their colours. */
export const shapes = {
  gone: 'M 3 3 L 13 13 M 13 3 L 3 13',
  failing: 'M 8 2 L 15 14 L 1 14 Z M 8 6 L 8 10 M 8 12 L 8 12.5',
  unready: 'M 5 3 L 5 13 M 11 3 L 11 13',
};

/** Remembers the services that the map has shown, so that those that leave are shown as gone for two minutes. */
export class Departures {
  #seen = new Map(); // nodes by name, with the time since when they are gone, 0 for never

  /** Returns the nodes, and those that have left. */
  with(nodes, now = Date.now()) {
    const present = new Set(nodes.map(({name}) => name));
    for (const node of nodes.filter(({kind, instances}) => kind === 'service' && instances.length > 0)) {
      this.#seen.set(node.name, {node, since: 0});
    }
    const left = [];
    for (const [name, seen] of this.#seen) {
      if (present.has(name)) {
        continue;
      }
      seen.since ||= now;
      if (now - seen.since > goneLasts) {
        this.#seen.delete(name);
      } else {
        left.push({...seen.node, instances: [], figures: null, goneSince: seen.since});
      }
    }
    return [...nodes, ...left];
  }

  /** Forgets all services. */
  clear() {
    this.#seen.clear();
  }
}
