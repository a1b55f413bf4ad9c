// The example of docs/guides/typescript.md: it calls the showcase.
import {connect, Problem} from './bus.js';

declare const process: {argv: string[]};

const bus = connect({baseUrl: process.argv[2], token: async () => '', timeout: 10_000});

const {sum} = await bus.calculator.add({x: 5, y: 6});
console.log(sum);

try {
  await bus.calculator.arithmetic({x: sum, op: '/', y: 0}, {signal: AbortSignal.timeout(2000)});
} catch (err) {
  if (!(err instanceof Problem)) throw err;
  console.log(err.status, err.detail, err.executed);
}

for await (const n of bus.trouble.count({n: 1000})) {
  if (n === 3) break; // ends the call
}

for await (const {id, payload} of bus.orders.events.ordered({lastEventId: '0'})) {
  console.log(id, payload.item);
  break;
}
