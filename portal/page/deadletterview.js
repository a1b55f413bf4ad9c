import {DeadLetters} from './deadletters.js';
import {element, newID} from './element.js';
import {Poller} from './poller.js';
import {viewHash} from './route.js';

/**
 * The view of the dead letters of all services and events: {node, title, show(route)}. It follows them while it is seen.
 * Its filter is the query of its address.
 */
export class DeadLetterView {
  node = element('section', {className: 'event-page dead-letter-view'});
  title = 'Dead letters';
  #poller;
  #live = null; // the latest answer of events.json
  #service = select('Subscriber');
  #event = select('Event');
  #list;

  constructor(caller) {
    const title = element('h2', {id: 'operation-title', tabIndex: -1}, 'Dead letters');
    this.#list = new DeadLetters({service: '', event: ''}, caller, title);
    const form = element('form', {className: 'message-filter', 'aria-label': 'Filter dead letters'}, this.#service.node, this.#event.node);
    form.addEventListener('submit', (event) => event.preventDefault());
    form.addEventListener('input', () => {
      const query = new URLSearchParams(Object.entries(this.#wanted).filter(([, value]) => value));
      history.replaceState(null, '', viewHash('deadletters') + (String(query) && `?${query}`));
      this.#narrow();
    });
    title.after(form);
    this.node.append(this.#list.node);
    this.#poller = new Poller('events.json', caller, {
      watched: () => this.node.isConnected,
      apply: (live) => this.#apply(live),
      miss: (_, detail) => this.#miss(detail),
    });
    caller.onChange(() => {
      this.#live = null;
      this.#list.forget();
      this.#poller.reset();
    });
  }

  show({query}) {
    const given = new URLSearchParams(query);
    const before = JSON.stringify(this.#wanted);
    this.#service.value = given.get('service') || '';
    this.#event.value = given.get('event') || '';
    if (JSON.stringify(this.#wanted) !== before) {
      this.#narrow();
    }
    this.#poller.wake();
  }

  get #wanted() {
    return {service: this.#service.value, event: this.#event.value};
  }

  #narrow() {
    this.#list.narrow(this.#wanted);
    if (this.#live) {
      this.#follow();
    }
  }

  #apply(live) {
    this.node.classList.remove('stale');
    this.#live = live;
    const all = this.#subscriptions;
    this.#service.offer(all.map(({service}) => service));
    this.#event.offer(all.map(({event}) => event));
    this.#follow();
  }

  get #subscriptions() {
    return this.#live.publishers.flatMap(({subscriptions}) => subscriptions);
  }

  #follow() {
    if (this.#live.unavailable) {
      this.#list.fail(this.#live.unavailable);
      return;
    }
    const {service, event} = this.#wanted;
    const found = this.#subscriptions.filter((one) => (!service || one.service === service) && (!event || one.event === event));
    const count = found.reduce((sum, {deadLetters}) => sum + deadLetters, 0);
    this.#list.follow(count, this.#live.operator);
  }

  // What was seen stays, greyed out.
  #miss(detail) {
    this.node.classList.toggle('stale', this.#live !== null);
    if (!this.#live) {
      this.#list.fail(`The figures cannot be read: ${detail}.`);
    }
  }
}

/** A choice among names, "" for all. It keeps a value that is not among those on offer. */
function select(title) {
  const input = element('select', {id: newID('dead')});
  let offered = [];
  const draw = (value) => {
    const names = [...new Set([...offered, value])].filter(Boolean).sort();
    const options = ['', ...names];
    if (options.join(' ') !== [...input.options].map((one) => one.value).join(' ')) {
      input.replaceChildren(...options.map((name) => element('option', {value: name}, name || 'all')));
    }
    input.value = value;
  };
  draw('');
  return {
    node: element('div', {className: 'field'}, element('label', {htmlFor: input.id}, title), input),
    offer: (names) => {
      offered = names;
      draw(input.value);
    },
    get value() {
      return input.value;
    },
    set value(value) {
      draw(value);
    },
  };
}
