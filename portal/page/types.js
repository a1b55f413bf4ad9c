import {copyButton} from './buttons.js';
import {namesIn, typeID} from './document.js';
import {element, redraw} from './element.js';
import {exampleView} from './operation.js';
import {eventHash, operationHash, serviceHash, viewHash} from './route.js';
import {example, limits, schemaView, typeText} from './schema.js';
import {loadingView} from './states.js';

const mostListed = 500;

/** The view of a type: what it is, and what uses it: {node, title, show(route)}. */
export class TypeView {
  node = element('div', {className: 'type-page'});
  title = 'Type';
  #bus;
  #parts = [];
  #shown = '';
  #entitle;

  /** @param {{entitle: function(Object)}} actions */
  constructor(bus, {entitle}) {
    this.#bus = bus;
    this.#entitle = entitle;
    bus.onChange(() => this.node.isConnected && this.#draw());
  }

  show({parts}) {
    this.#parts = parts;
    this.#draw();
  }

  #titleOf(type, listed) {
    const [host, name] = this.#parts;
    if (type) {
      return `${name} of ${host}`;
    }
    return listed.length > 0 ? ['Types', host].filter(Boolean).join(' of ') : 'Not on the bus';
  }

  #draw() {
    const {state} = this.#bus;
    const [host, name] = this.#parts;
    const type = state.types().get(`${host}/${name}`);
    const listed = name ? [] : typesOf(state, host);
    this.title = this.#titleOf(type, listed);
    const uses = type ? usesOf(type, state) : [];
    const shown = JSON.stringify([
      host,
      name,
      state.phase,
      state.complete,
      type?.text,
      uses.map(({href, how}) => href + how),
      listed.map(({id}) => id),
    ]);
    if (shown !== this.#shown) {
      this.#shown = shown;
      const other = () => (listed.length > 0 ? listView(listed, host) : missingView(host, name, state));
      redraw(this.node, type ? typeArticle(type, uses) : other());
    }
    this.#entitle(this);
  }
}

/** The types of a host, of all hosts without one: not those of arguments and results as a whole. */
function typesOf({types}, host) {
  return [...types().values()].filter((type) => (!host || type.host === host) && !/_(in|out)$/.test(type.name));
}

function listView(types, host) {
  const shown = types.slice(0, mostListed);
  const rest = types.length - shown.length;
  const links = shown.map((type) =>
    element('li', {}, element('a', {href: viewHash('types', type.host, type.name)}, type.name), !host && ` of ${type.host}`),
  );
  return element(
    'article',
    {className: 'operation', 'aria-labelledby': 'operation-title'},
    element('p', {className: 'crumbs'}, element('a', {href: '#/'}, 'Services'), host && element('a', {href: serviceHash(host)}, host)),
    element('h2', {id: 'operation-title', tabIndex: -1}, host ? `Types of ${host}` : 'Types'),
    element('ul', {}, ...links),
    rest > 0 && element('p', {className: 'quiet'}, `… and ${rest} more: search the list of services.`),
  );
}

function missingView(host, name, {phase, complete, error}) {
  if (phase === 'loading' || (phase === 'ready' && !complete)) {
    return loadingView();
  }
  return element(
    'div',
    {className: 'state', role: 'status'},
    element('h2', {}, phase === 'ready' ? 'Not on the bus' : 'The bus cannot be read'),
    element('p', {}, phase === 'ready' ? missingText(host, name) : error.message),
    element('p', {}, element('a', {href: '#/'}, 'All services')),
  );
}

function missingText(host, name) {
  if (!host) {
    return 'No service that you may see has a type with a name.';
  }
  return element(
    'span',
    {},
    element('code', {}, name ? `${name} of ${host}` : host),
    name ? ' is not there.' : ' has no types that you may see.',
  );
}

function typeArticle(type, uses) {
  const {host, name, schema} = type;
  const about = limits(schema).join(', ');
  const of = (kind) => uses.filter((use) => use.kind === kind);
  return element(
    'article',
    {className: 'operation', 'aria-labelledby': 'operation-title'},
    element(
      'p',
      {className: 'crumbs'},
      element('a', {href: '#/'}, 'Services'),
      element('a', {href: serviceHash(host)}, host),
      copyButton(() => new URL(viewHash('types', host, name), document.baseURI).href, 'Copy link to this type', 'Copy link'),
    ),
    element('h2', {id: 'operation-title', tabIndex: -1}, element('span', {className: 'method'}, 'TYPE'), ` ${name}`),
    schema.schema.description && element('p', {className: 'description'}, schema.schema.description),
    element('p', {className: 'quiet'}, [typeText({...schema, name: ''}), about].filter(Boolean).join(', ')),
    element('section', {'aria-label': 'Schema'}, element('h3', {}, 'Schema'), schemaView(schema)),
    exampleView('Example', () => example(schema)),
    usesView('Used by operations', of('operation')),
    usesView('Used by events', of('event')),
    usesView('Used by types', of('type')),
    uses.length === 0 && element('p', {className: 'quiet'}, 'Nothing that you may see uses it.'),
  );
}

function usesView(title, uses) {
  return (
    uses.length > 0 &&
    element(
      'section',
      {'aria-label': title},
      element('h3', {}, title),
      element(
        'ul',
        {},
        ...uses.map(({href, text, how}) =>
          element('li', {}, element('a', {href}, text), how && element('span', {className: 'quiet'}, ` as ${how}`)),
        ),
      ),
    )
  );
}

/** What uses a type by itself: {kind, href, text, how}. */
function usesOf(type, {operations, events, types}) {
  const uses = (schema) => directTypes(schema).includes(type.id);
  return [
    ...[...operations.values()].flatMap((operation) => operationUse(operation, uses)),
    ...[...events.values()]
      .filter(({payload}) => payload && uses(payload))
      .map((event) => ({kind: 'event', href: eventHash(event), text: `${event.name} of ${event.publisher}`, how: 'argument'})),
    ...[...types().values()]
      .filter((other) => other !== type && [...namesIn(other.schema.schema)].some((name) => typeID(name).id === type.id))
      .map(({host, name}) => ({kind: 'type', href: viewHash('types', host, name), text: name, how: ''})),
  ];
}

function operationUse(operation, uses) {
  const {host, method, path, parameters, body, responses} = operation;
  const how = [
    ([...parameters, body].filter(Boolean).some(({schema}) => uses(schema)) && 'argument') || '',
    ...responses
      .filter(({contents}) => contents.some(({schema}) => uses(schema)))
      .map(({status}) => (status === 'default' ? 'error' : `result of ${status}`)),
  ].filter(Boolean);
  return how.length > 0
    ? [{kind: 'operation', href: operationHash(operation), text: `${method.toUpperCase()} ${host}${path}`, how: how.join(', ')}]
    : [];
}

/** The types that a schema names, without those inside them. */
function directTypes({component, schema}) {
  return (component ? [component] : [...namesIn(schema)]).map((name) => typeID(name).id);
}
