// This client calls the showcase with what the portal's client.ts has for it.

import {connect as connectBigint} from './bus.bigint.js';
import {connect, isDeclined, NetworkError, PaymentsReceiptState, Problem} from './bus.js';
import {connect as connectString} from './bus.string.js';

declare const process: {argv: string[]};

const baseUrl = process.argv[2] ?? 'http://127.0.0.1:8080';
const bus = connect({baseUrl});

/** Returns what a call fails with. */
async function failure(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => 'it succeeded',
    (err: unknown) => err,
  );
}

function show(...words: unknown[]) {
  console.log(words.map(String).join(' '));
}

// Calls
const {sum} = await bus.calculator.add({x: 5, y: 6});
show('sum', sum);
let status = 0;
const created = await bus.products.create(
  {body: {name: 'Tea', price: 4.5, tags: ['green']}},
  {
    onResponse: (response) => {
      status = response.status;
    },
  },
);
const id = created?.id ?? 0;
show('created', status, id);
for (const {name, price, tags} of await bus.products.listAll({sortBy: '-price', limit: 10})) {
  show(name, price, tags.join());
}
show('updated', await bus.products.update({id, body: {name: 'Tea', price: 5}}));
await bus.messaging.cacheStore({key: 'drink', value: 'tea & milk'});
const loaded = await bus.messaging.cacheLoad({key: 'drink'});
show('web', loaded.status, (await loaded.text()).includes('tea & milk'));
show('echo', JSON.stringify(await bus.trouble.echo({body: {list: [1, null, 'ü']}})));

// Problems
try {
  await bus.calculator.arithmetic({x: 1, op: '/', y: 0});
} catch (err) {
  if (!(err instanceof Problem)) throw err;
  show(err.status, err.detail, err.host, err.executed);
}
const missing = await failure(bus.products.read({id: id + 1000}));
show('missing', missing instanceof Problem && missing.status);
show('unreachable', (await failure(connect({baseUrl: 'http://127.0.0.1:1'}).calculator.add())) instanceof NetworkError);

// Time, and an end by the caller
const late = await failure(bus.trouble.sleep({ms: 60_000}, {timeout: 50}));
show('late', late instanceof DOMException && late.name);
const stop = new AbortController();
setTimeout(() => stop.abort('enough'), 50);
show('aborted', await failure(bus.trouble.sleep({ms: 60_000}, {signal: stop.signal})));

// A connection that breaks
let cut = new AbortController();
let opened = () => {};
async function unsteady(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, {...init, signal: AbortSignal.any([cut.signal, ...(init.signal ? [init.signal] : [])])});
  opened();
  return response;
}
function breakConnection() {
  cut.abort();
  cut = new AbortController();
}

// Streams
const numbers: number[] = [];
for await (const n of bus.trouble.count({n: 3})) numbers.push(n);
show('stream', numbers);
const {count: before} = await bus.trouble.cancelled();
for await (const n of bus.trouble.count({n: 1000, pauseMs: 20})) {
  if (n === 2) break;
}
let cancelled = 0;
while (cancelled === 0) cancelled = (await bus.trouble.cancelled()).count - before;
show('cancelled', cancelled);
try {
  for await (const {product} of connect({baseUrl, fetch: unsteady}).products.watch()) {
    show('watched', product?.name);
    breakConnection();
  }
} catch (err) {
  show('the stream broke', err instanceof NetworkError);
}
show('deleted', await bus.products.delete({id}));

// A token as a function
const asked: boolean[] = [];
const token = async ({expired}: {expired: boolean}) => {
  asked.push(expired);
  return 'no token';
};
const refused = await failure(connect({baseUrl, token}).payroll.headcount());
show('token', asked, refused instanceof Problem && refused.status);

// Integers of 64 bits
const limit = Number.MAX_SAFE_INTEGER;
show(await failure(bus.calculator.add({x: limit + 1, y: 0})));
show(await failure(bus.calculator.add({x: limit, y: 2})));
show('bigint', (await connectBigint({baseUrl}).calculator.add({x: 9007199254740993n, y: 1n})).sum);
show('string', (await connectString({baseUrl}).calculator.add({x: '9007199254740993', y: '1'})).sum);

// Unions, enums, and problems with details
const heard = new Promise<void>((resolve) => {
  opened = resolve;
});
const payments = connect({baseUrl, fetch: unsteady}).payments.events.paid();
const told = payments.next();
await heard;
const euros = {cents: 450, currency: 'EUR'} as const;
const {receipt} = await bus.payments.pay({...euros, by: {kind: 'card', number: '4111111111111111'}});
show('paid', receipt.by.kind === 'card' && receipt.by.number, receipt.state === PaymentsReceiptState.Settled, receipt.note);
show('told', (await told).value?.payload.by.kind);
await payments.return();
const declined = await failure(bus.payments.pay({...euros, by: {kind: 'voucher', code: 'TEA-2026', worth: 1}}));
show('declined', isDeclined(declined) && declined.details.left);
const cash = await failure(bus.payments.pay({...euros, by: {kind: 'cash'} as never}));
show(cash instanceof Problem && cash.detail);

// Events
const listening = new Promise<void>((resolve) => {
  opened = resolve;
});
const events = connect({baseUrl, fetch: unsteady}).orders.events.ordered();
const next = events.next();
await listening;
const {number: first} = await bus.orders.order({item: 'Tea', quantity: 1});
const {value: ordered} = await next;
show('event', ordered?.payload.item, ordered?.payload.number === first);
breakConnection();
await bus.orders.order({item: 'Milk', quantity: 2});
const {value: resumed} = await events.next();
show('resumed', resumed?.payload.item);
await events.return();
for await (const {payload} of bus.orders.events.ordered({lastEventId: ordered?.id})) {
  show('again', payload.item, payload.quantity);
  break;
}
