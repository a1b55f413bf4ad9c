// Holds what generated clients have in common to servers that answer as the tests say.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import * as bigint from './everything.bigint.js';
import * as number from './everything.number.js';
import * as string from './everything.string.js';

/** Returns a client, and the requests that it makes. Each is answered by the next answer, or by the last one. */
function serve({connect}, answers, options = {}) {
  const requests = [];
  const fetch = async (url, init) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)];
    requests.push({url, ...init});
    return answer(init);
  };
  return {bus: connect({baseUrl: 'http://x', fetch, ...options}), requests};
}

const json = (body) => () => new Response(body, {headers: {'Content-Type': 'application/json'}});
const problem = (members, headers) => () =>
  new Response(JSON.stringify(members), {
    status: members.status,
    headers: {'Content-Type': 'application/problem+json', ...headers},
  });
const broken = () => {
  throw new TypeError('fetch failed');
};
const events = (pieces, breaks) => () => {
  const encoder = new TextEncoder();
  const body = new ReadableStream({
    pull(controller) {
      if (pieces.length > 0) controller.enqueue(encoder.encode(pieces.shift()));
      else if (breaks) controller.error(new TypeError('terminated'));
      else controller.close();
    },
  });
  return new Response(body, {headers: {'Content-Type': 'text/event-stream'}});
};
const list = async (iterable) => {
  const all = [];
  for await (const each of iterable) all.push(each);
  return all;
};

test('a call of which nothing ran is repeated', async () => {
  const busy = problem({status: 503, executed: 'no'}, {'Retry-After': '0'});
  const {bus, requests} = serve(number, [busy, busy, json('{"number":1,"total":2}')]);
  assert.deepEqual(await bus.shopExample.new({items: []}), {number: 1, total: 2});
  assert.equal(requests.length, 3);
});

for (const {name, answer, options, call, calls} of [
  {name: 'that may have run', answer: problem({status: 503}), calls: 1},
  {name: 'with another status', answer: problem({status: 500, executed: 'no'}), calls: 1},
  {name: 'as often as it may', answer: problem({status: 503, executed: 'no'}, {'Retry-After': '0'}), calls: 3},
  {name: 'that is not to be repeated', answer: problem({status: 503, executed: 'no'}), options: {retries: 0}, calls: 1},
  {
    name: 'whose time does not suffice',
    answer: problem({status: 503, executed: 'no'}, {'Retry-After': '9'}),
    options: {timeout: 5000},
    calls: 1,
  },
  {name: 'that changes something, over a network that fails', answer: broken, calls: 1},
  {name: 'that has a key, over a network that fails', answer: broken, call: ({pay}) => pay(), calls: 3},
  {name: 'that has a key, and may have run', answer: problem({status: 504}), call: ({pay}) => pay(), calls: 3},
  {name: 'that has a key, and is refused', answer: problem({status: 409}), call: ({pay}) => pay(), calls: 1},
  {name: 'that reads, over a network that fails', answer: broken, call: ({list}) => list({filter: {ids: []}}), calls: 3},
]) {
  test(`a call ${name} is made ${calls} times`, async () => {
    const {bus, requests} = serve(number, [answer], options);
    await assert.rejects(
      (call ?? ((shop) => shop.new({items: []})))(bus.shopExample),
      answer === broken ? number.NetworkError : number.Problem,
    );
    assert.equal(requests.length, calls);
  });
}

test('a call has one key, however often it is made', async () => {
  const nothing = () => new Response(null, {status: 204});
  const {bus, requests} = serve(number, [broken, nothing]);
  await bus.shopExample.pay();
  await bus.shopExample.pay({'Idempotency-Key': 'order-7'});
  await bus.shopExample.pay({'Idempotency-Key': ' '}, {headers: {'IDEMPOTENCY-KEY': ''}});
  const keys = requests.map(({headers}) => headers['Idempotency-Key']);
  assert.match(keys[0], /^[0-9a-f]{32}$/);
  assert.match(keys[3], /^[0-9a-f]{32}$/);
  assert.deepEqual(keys, [keys[0], keys[0], 'order-7', keys[3]]);
  await bus.shopExample.pay({}, {headers: {'idempotency-key': 'order-8'}});
  assert.equal(new Headers(requests[4].headers).get('Idempotency-Key'), 'order-8');
});

test('a token is asked for again after 401, once', async () => {
  const asked = [];
  const token = ({expired}) => {
    asked.push(expired);
    return expired ? 'new' : 'old';
  };
  const {bus, requests} = serve(number, [problem({status: 401}), json('true')], {token, retries: 0});
  assert.equal(await bus._2fa.getX(), true);
  assert.deepEqual(asked, [false, true]);
  assert.deepEqual(
    requests.map(({headers}) => headers.Authorization),
    ['Bearer old', 'Bearer new'],
  );
  await assert.rejects(serve(number, [problem({status: 401})], {token}).bus._2fa.getX(), {status: 401});
});

test('kinds of problems have guards and typed details', async () => {
  const type = 'https://shop.example/problems/out-of-stock';
  const members = `{"type":"${type}","title":"Conflict","status":409,"detail":"none","executed":"no","msgId":"m","left":9007199254740993}`;
  const answer = () => new Response(members, {status: 409, headers: {'Content-Type': 'application/problem+json'}});
  const err = await serve(bigint, [answer])
    .bus.shopExample.new({items: []})
    .catch((err) => err);
  assert.ok(bigint.isOutOfStock(err));
  assert.ok(!bigint.isClosed(err));
  assert.ok(err instanceof Error);
  assert.deepEqual({...err.details}, {left: 9007199254740993n});
  const {status, title, detail, executed, msgId, host, errors, message} = err;
  assert.deepEqual(
    {status, title, detail, executed, msgId, host, errors, message},
    {status: 409, title: 'Conflict', detail: 'none', executed: 'no', msgId: 'm', host: undefined, errors: [], message: '409 none'},
  );
});

test('an answer that is no problem fails, too', async () => {
  const gateway = () => new Response('<h1>Bad Gateway</h1>', {status: 502, statusText: 'Bad Gateway'});
  await assert.rejects(serve(number, [gateway]).bus._2fa.getX(), {status: 502, title: 'Bad Gateway', detail: '<h1>Bad Gateway</h1>'});
  const response = await serve(number, [gateway]).bus.shop80.new({body: 'text'});
  assert.equal(response.status, 502);
});

const items =
  '[{"big":18446744073709551615,"counts":{"a":1},"level":1,"ratio":12345678901234567000,"it\'s":"9007199254740993",' +
  '"choices":["\\"1234567890123456\\"",7],"free":{"deep":[9007199254740993,1]},"list":null,"__proto__":5}]';

test('integers of 64 bits are bigints, small ones, too', async () => {
  const {bus, requests} = serve(bigint, [json(items)]);
  const [item] = await bus.shopExample.list({filter: {ids: [9007199254740993n]}});
  assert.equal(item.big, 18446744073709551615n);
  assert.deepEqual(item.counts, {a: 1n});
  assert.equal(item.level, 1);
  assert.equal(item.ratio, 12345678901234567000);
  assert.equal(item["it's"], '9007199254740993');
  assert.deepEqual(item.choices, ['"1234567890123456"', 7n]);
  assert.deepEqual(item.free, {deep: [9007199254740993n, 1]});
  assert.equal(Object.getOwnPropertyDescriptor(item, '__proto__').value, 5n);
  assert.equal(requests[0].url, 'http://x/shop.example:443/items?filter.ids=9007199254740993');
  await bus.shopExample.new({items: [item], note: undefined});
  assert.equal(
    requests[1].body,
    '{"items":[{"big":18446744073709551615,"counts":{"a":1},"level":1,"ratio":12345678901234567000,"it\'s":"9007199254740993",' +
      '"choices":["\\"1234567890123456\\"",7],"free":{"deep":[9007199254740993,1]},"list":null,"__proto__":5}]}',
  );
});

test('integers of 64 bits are texts', async () => {
  const {bus, requests} = serve(string, [json(items)]);
  const [item] = await bus.shopExample.list({filter: {ids: ['9007199254740993']}});
  assert.equal(item.big, '18446744073709551615');
  assert.deepEqual(item.counts, {a: '1'});
  assert.equal(item.level, 1);
  await bus.shopExample.new({items: [{level: 1, list: [], big: '18446744073709551615'}]});
  assert.equal(requests[1].body, '{"items":[{"level":1,"list":[],"big":18446744073709551615}]}');
  await assert.rejects(bus.shopExample.new({items: [{level: 1, list: [], big: 'many'}]}), /items\[0\]\.big: "many" is not an integer/);
});

test('numbers are exact, or an error that names the member', async () => {
  const {bus} = serve(number, [json(items)]);
  await assert.rejects(bus.shopExample.list({filter: {ids: []}}), /^RangeError: result\[0\]\.big: 18446744073709551615 is beyond/);
  for (const [item, message] of [
    [{counts: {a: 2 ** 53}}, /items\[0\]\.counts\.a: 9007199254740992 is beyond/],
    [{ratio: Number.NaN}, /items\[0\]\.ratio: NaN is not a number/],
  ]) {
    await assert.rejects(bus.shopExample.new({items: [{level: 1, list: [], ...item}]}), message);
  }
  const {bus: exact} = serve(number, [json('[{"level":1,"list":[],"ratio":12345678901234567000,"big":9007199254740991}]')]);
  assert.equal((await exact.shopExample.list({filter: {ids: []}}))[0].big, 9007199254740991);
});

test('arguments go where they belong', async () => {
  const {bus, requests} = serve(number, [json('[]')]);
  const item = {level: 1, list: null};
  await bus.shopExample.list({filter: {ids: [1, 2], text: 'a&b', range: {min: 3}}, ids: [4], point: item});
  const {searchParams} = new URL(requests[0].url);
  assert.deepEqual(
    [...searchParams],
    [
      ['filter.text', 'a&b'],
      ['filter.ids', '1'],
      ['filter.ids', '2'],
      ['filter.range.min', '3'],
      ['ids', '4'],
      ['point', '{"level":1,"list":null}'],
    ],
  );
  await bus.shopExample.getFilesFolderPath({folder: 'a/b', path: 'c d/e?', 'X-Tenant': 't'});
  assert.equal(requests[1].url, 'http://x/shop.example:443/files/a%2Fb/c%20d/e%3F');
  assert.equal(requests[1].headers['X-Tenant'], 't');
  await bus.shopExample.then2({body: 'in the query', httpRequestBody: null});
  assert.equal(requests[2].url, 'http://x/shop.example:443/then?body=in+the+query');
  assert.equal(requests[2].body, 'null');
  for (const args of [
    {folder: '..', path: 'x'},
    {folder: '', path: 'x'},
    {folder: 'x', path: 'a/../b'},
  ]) {
    await assert.rejects(bus.shopExample.putFilesFolderPath(args), /cannot be in a path/);
  }
});

test('a stream is parsed however it is cut', async () => {
  const pieces = [
    ...'data: {"kind":"circle",\rdata: "radius":1}\r\n\r\n: comment\n\ndata:{"kind":"square","inner":null}\n\nid: end\nevent: end\ndata:\n\n',
  ];
  assert.deepEqual(await list(serve(bigint, [events(pieces)]).bus.shopExample.watch()), [
    {kind: 'circle', radius: 1n},
    {kind: 'square', inner: null},
  ]);
});

test('a stream that fails ends with its problem', async () => {
  const failing = ['data: {"kind":"circle","radius":1}\n\nda', '\n\nevent: problem\ndata: {"status":504,"detail":"late"}\n\n'];
  const stream = serve(number, [events(failing)]).bus.shopExample.watch();
  assert.equal((await stream.next()).value.radius, 1);
  await assert.rejects(stream.next(), {name: 'Problem', status: 504, detail: 'late'});
  const cut = ['data: {"kind":"circle","radius":1}\n\n'];
  await assert.rejects(list(serve(number, [events([...cut])]).bus.shopExample.watch()), number.NetworkError);
  await assert.rejects(list(serve(number, [events([...cut], true)]).bus.shopExample.watch()), number.NetworkError);
});

test('leaving a stream ends its request', async () => {
  const endless = () => events(['data: {"kind":"square","inner":null}\n\n', ...Array(9).fill(':\n\n')])();
  const {bus, requests} = serve(number, [endless]);
  for await (const _ of bus.shopExample.watch()) break;
  assert.ok(requests[0].signal.aborted);
});

test('events go on behind the last one', async () => {
  const gaps = [];
  const {bus, requests} = serve(bigint, [
    events(['retry: 2000\n\nid: 7\n\n'], true),
    problem({status: 503}),
    events(['event: gap\ndata: {"detail":"lost"}\n\n', 'id: 9\ndata: {"item":{"sku":1}}\n\n']),
    events(['id: 10\ndata: {"shape":{"kind":"circle","radius":2}}\n\n']),
    problem({status: 403}),
  ]);
  const seen = [];
  await assert.rejects(
    (async () => {
      for await (const event of bus.shopExample.events.sold({onGap: (detail) => gaps.push(detail)})) seen.push(event);
    })(),
    {status: 403},
  );
  assert.deepEqual(seen, [
    {id: '9', payload: {item: {sku: 1n}}},
    {id: '10', payload: {shape: {kind: 'circle', radius: 2n}}},
  ]);
  assert.deepEqual(gaps, ['lost']);
  assert.deepEqual(
    requests.map(({headers}) => headers['Last-Event-ID']),
    [undefined, '7', '7', '9', '10'],
  );
});

test('the first connection to events may fail', async () => {
  const {bus, requests} = serve(number, [broken]);
  await assert.rejects(list(bus.press.events.printed()), number.NetworkError);
  assert.equal(requests.length, 3);
});

test('a signal ends everything with its reason', async () => {
  const reason = new Error('enough');
  const signal = AbortSignal.abort(reason);
  const waits = ({signal}) =>
    new Promise((_, reject) => (signal.aborted ? reject(signal.reason) : signal.addEventListener('abort', () => reject(signal.reason))));
  const {bus} = serve(number, [waits]);
  await assert.rejects(bus._2fa.getX({}, {signal}), reason);
  await assert.rejects(list(bus.shopExample.watch({}, {signal})), reason);
  await assert.rejects(list(bus.press.events.printed({signal})), reason);
  await assert.rejects(bus._2fa.getX({}, {timeout: 1}), {name: 'TimeoutError', message: 'no answer within 1 ms'});
});

test('details that nothing describes are not rounded', async () => {
  const body = '{"status":409,"type":"urn:x","n":1152921504606846977,"small":1}';
  const headers = {'Content-Type': 'application/problem+json'};
  for (const [client, n] of [
    [number, '1152921504606846977'],
    [bigint, 1152921504606846977n],
    [string, '1152921504606846977'],
  ]) {
    const {bus} = serve(client, [() => new Response(body, {status: 409, headers})]);
    const {details} = await bus.shopExample.new({items: []}).catch((err) => err);
    assert.deepEqual(details, {n, small: 1});
  }
});
