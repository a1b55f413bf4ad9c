// This client calls the showcase with types that openapi-typescript has made from the document of all services.
import createClient from 'openapi-fetch';
import type {paths} from './openapi.js';

declare const process: {argv: string[]};

const bus = createClient<paths>({baseUrl: process.argv[2] ?? 'http://127.0.0.1:8080'});

const added = await bus.POST('/calculator.example:443/add', {body: {x: 5, y: 6}});
console.log('sum', added.data?.sum);

const divided = await bus.POST('/calculator.example:443/arithmetic', {body: {x: 1, op: '/', y: 0}});
console.log(divided.error?.status, divided.error?.detail);

const created = await bus.POST('/products.example:443/products', {body: {name: 'Tea', price: 4.5, tags: ['green']}});
console.log('created', created.response.status, created.data?.id);

const listed = await bus.GET('/products.example:443/products', {params: {query: {sortBy: '-price', limit: 10}}});
for (const product of listed.data ?? []) {
  console.log(product.name, product.price, product.tags?.join());
}

const path = {id: created.data?.id ?? 0};
const deleted = await bus.DELETE('/products.example:443/products/{id}', {params: {path}});
console.log('deleted', deleted.response.status);

const read = await bus.GET('/products.example:443/products/{id}', {params: {path}});
console.log(read.error?.status, read.data);
