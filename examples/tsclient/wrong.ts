// The compiler refuses each of these: a line without an error would be one.

import {connect as connectBigint} from './bus.bigint.js';
import {connect} from './bus.js';
import {connect as connectAll, isOutOfStock, type ShopExampleThing} from './everything.number.js';

const bus = connect();

// @ts-expect-error: there is no such function
await bus.calculator.multiply({x: 1, y: 2});

// @ts-expect-error: an argument has another type
await bus.calculator.add({x: '1', y: 2});

// @ts-expect-error: there is no such argument
await bus.calculator.add({x: 1, z: 2});

// @ts-expect-error: an argument is missing
await bus.products.read({});

// @ts-expect-error: the body lacks a member
await bus.products.create({body: {price: 1}});

// @ts-expect-error: a member of another variant
await bus.payments.pay({cents: 1, currency: 'EUR', by: {kind: 'card', iban: 'DE02120300000000202051'}});

// @ts-expect-error: a value that the enum does not have
await bus.payments.pay({cents: 1, currency: 'USD', by: {kind: 'card', number: '4111111111111111'}});

// @ts-expect-error: integers of 64 bits are bigints here
await connectBigint().calculator.add({x: 1, y: 2});

// @ts-expect-error: a member of one variant is not one of the union
export const radius = (thing: ShopExampleThing) => thing.radius;
export const whole = (thing: ShopExampleThing) => (thing.kind === 'circle' ? thing.radius : thing.inner);

// @ts-expect-error: a value that the enumeration does not have
connectAll().shopExample.watch({kind: 'c'});

// @ts-expect-error: details are typed behind the guard alone
export const left = (err: unknown) => err.details.left;
export const guarded = (err: unknown) => (isOutOfStock(err) ? err.details.left : 0);
