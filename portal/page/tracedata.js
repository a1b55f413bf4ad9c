// Converts the answer of trace.json to rows. A call has two records: one of its caller, the client side, and one of its
// callee, the server side. The two are one row where they belong to each other alone.

import {isEvent} from './tracecalls.js';

const shortestPause = 1000; // milliseconds that an axis may leave out
const pauseFactor = 5; // by which such a pause is longer than all calls
const pauseShare = 0.05; // of the axis, for its mark

/**
 * Converts a trace to roots. A row is {client, server, call, depth, children, count, began, took, own, most}: call is the
 * record of the callee, of the caller if there is no other; count is how many rows are below it, and calls how many calls
 * these are: isReached marks an instance that a multicast or an attempt of the call above has reached. began is in
 * milliseconds, took and own in nanoseconds. own is {nanoseconds, where}: the longest time that is spent in the row itself.
 * most marks the row of a root with most of it. status is that of the side for which the call went worse; outlived marks a
 * call that its callee has ended well, after its caller had given up: took is until that end. before is an earlier delivery
 * of the same event to the same service. A root also has slowest, that row, span, in milliseconds, from began until the
 * last end, and axis; see axisOf.
 */
export function readTrace({roots}) {
  const deliveries = new Map();
  return roots.map((node) => {
    const root = newRow(node, 0);
    const all = [root]; // parents come before their children
    for (let at = 0; at < all.length; at++) {
      // no recursion: a tree of others may be deep
      for (const child of all[at].nodes) {
        const row = newRow(child, all[at].depth + 1);
        row.isReached = hasReached(all[at], row);
        all[at].children.push(row);
        all.push(row);
      }
    }
    for (const row of all) {
      noteDelivery(row, deliveries);
    }
    root.axis = axisOf(all);
    let end = root.end;
    let most = root;
    for (const row of all.reverse()) {
      row.count = row.children.reduce((sum, child) => sum + 1 + child.count, 0);
      row.calls = row.children.reduce((sum, child) => sum + (child.isReached ? 0 : 1) + child.calls, 0);
      row.own = ownTime(row);
      most = row.own.nanoseconds >= most.own?.nanoseconds || !most.own ? row : most;
      end = Math.max(end, row.end);
    }
    most.most = root.count > 0 && most.own.nanoseconds > 0;
    root.slowest = most.most ? most : null;
    root.span = end - root.began;
    return root;
  });
}

function newRow(node, depth) {
  const only = node.side === 'client' && !node.multicast && node.children?.length === 1 ? node.children[0] : null;
  const callee = only?.side === 'server' ? only : null;
  const client = node.side === 'client' ? node : null;
  const server = callee || (client ? null : node);
  const nodes = (callee || node).children || [];
  const call = server || client;
  const began = momentOf((client || server).began);
  const took = Number((client || server).took);
  const row = {client, server, call, depth, nodes, children: [], count: 0, calls: 0, isReached: false, began, took, own: null};
  row.most = false;
  row.before = null;
  row.end = Math.max(began + took / 1e6, server ? momentOf(server.began) + Number(server.took) / 1e6 : 0);
  row.status = client && server ? Math.max(client.status, server.status) : call.status;
  row.outlived = Boolean(client && server) && client.status >= 400 && server.status < 400;
  row.took = row.outlived ? Math.max(took, (row.end - began) * 1e6) : took;
  return row;
}

/** Whether a row is the same call as the one above, at one of several instances. The deliveries of an event are calls. */
function hasReached({client, server}, row) {
  return !row.client && Boolean(client) && !server && client.fromId === row.server.fromId && !isEvent(row.server);
}

function noteDelivery(row, deliveries) {
  if (row.server && isEvent(row.server)) {
    const {to, msgId, path} = row.server;
    const key = JSON.stringify([to, msgId, path]);
    row.before = deliveries.get(key) || null;
    deliveries.set(key, row);
  }
}

/**
 * The axis of rows: {pauses, length, at}. Pauses are {from, to}, moments between which nothing ran for far longer than all
 * calls took; they are shown short. at converts a moment to a place from 0 to length.
 */
function axisOf(rows) {
  const pauses = [];
  let busy = 0;
  let until = rows[0].began;
  for (const {began, end} of [...rows].sort((a, b) => a.began - b.began)) {
    if (began > until) {
      pauses.push({from: until, to: began});
    }
    busy += Math.max(0, end - Math.max(until, began));
    until = Math.max(until, end);
  }
  const long = pauses.filter(({from, to}) => to - from > Math.max(shortestPause, pauseFactor * busy));
  const cut = long.reduce((sum, {from, to}) => sum + to - from, 0);
  const start = rows[0].began;
  const mark = (until - start - cut) * pauseShare;
  const at = (moment) =>
    long.reduce((place, {from, to}) => {
      const share = Math.min(1, Math.max(0, (moment - from) / (to - from)));
      return place - share * (to - from - mark);
    }, moment - start);
  return {pauses: long, length: at(until), at};
}

/** Milliseconds since 1970 of a moment that has nanoseconds. */
export function momentOf(text) {
  const [, fraction = ''] = text.match(/\.\d{3}(\d+)/) || [];
  return Date.parse(text) + Number(`0.${fraction}0`);
}

/** The longest time that a row spends by itself, and where. */
function ownTime(row) {
  const {client, server, children} = row;
  if (!server) {
    const nanoseconds = Number(client.took) - covered(children, row.began, Number(client.took));
    return {nanoseconds, where: children.length > 0 ? 'way' : 'unknown'};
  }
  const handler = Number(server.took) - covered(children, momentOf(server.began), Number(server.took));
  const way = client ? Number(client.took) - Number(server.took) : 0;
  return way > handler ? {nanoseconds: way, where: 'way'} : {nanoseconds: handler, where: 'handler'};
}

/** How many nanoseconds of a time rows take. Calls that run at once count once. */
function covered(rows, began, took) {
  const until = began + took / 1e6;
  let sum = 0;
  let at = began;
  for (const row of [...rows].sort((a, b) => a.began - b.began)) {
    const end = Math.min(row.began + Number((row.client || row.server).took) / 1e6, until);
    sum += Math.max(0, end - Math.max(row.began, at));
    at = Math.max(at, end);
  }
  return Math.min(took, sum * 1e6);
}
