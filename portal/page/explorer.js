import {Charts} from './charts.js';
import {element, pluralize, redraw} from './element.js';
import {EventPages} from './eventpages.js';
import {List} from './list.js';
import {operationView, serviceView} from './operation.js';
import {RequestForm} from './requestform.js';
import {readRoute} from './route.js';
import {emptyView, failedView, gone, loadingView, refusedView, startView, unknownView} from './states.js';

const mostForms = 40; // forms that keep what was typed

/**
 * The view in which services and events are found and tried: a list, the description of one of them, and a form.
 */
export class Explorer {
  node;
  title = '';
  #list = new List(() => this.#enter());
  #middle = element('div', {className: 'middle', id: 'middle', tabIndex: -1});
  #right = element('div', {className: 'right'});
  #caller;
  #state;
  #route = {};
  #filled = null; // the route whose values were filled in
  #sends = ''; // the address whose operation is called when it is shown
  #entering = false; // whether the heading of the next route gets the focus
  #shown = ''; // what the middle shows, so that it is rebuilt only if it has changed
  #last = null; // the operation or the event shown
  #forms = new Map(); // by operation id, the latest last
  #charts; // of the service shown
  #events;

  /** @param {Object} actions offered by states: {again, changeToken, dropToken}, and entitle, for a changed title */
  constructor(caller, bus, actions) {
    this.#caller = caller;
    this.#charts = new Charts(caller);
    this.#events = new EventPages(caller);
    this.#state = bus.state;
    this.actions = actions;
    this.node = element('div', {className: 'explorer'}, this.#list.node, this.#middle, this.#right);
    bus.onChange((state) => this.#apply(state));
    caller.onChange(() => {
      for (const form of this.#forms.values()) {
        form.forget();
      }
    });
  }

  /** Shows a route of the page. */
  show(route) {
    const moved = JSON.stringify(route) !== JSON.stringify(this.#route);
    if (moved) {
      this.#route = route;
    }
    if (this.#sends !== location.hash) {
      this.#sends = '';
    }
    this.node.dataset.pane = route.host ? 'detail' : 'list';
    this.#list.show(route);
    this.#draw();
    if (moved && route.host) {
      this.#middle.scrollTop = 0;
      window.scrollTo(0, 0);
      if (this.#entering || this.#list.node.offsetParent === null) {
        // from the search, or on a phone, where the operation has replaced the list
        this.#entering = false;
        this.#middle.querySelector('h2')?.focus({preventScroll: true});
      }
    }
    this.#list.reveal(); // last, as what scrolls the page moves the list as well
  }

  /** Moves the focus from the search to the heading of what the address names: at once, or when it is shown. */
  #enter() {
    this.#entering = JSON.stringify(readRoute(location.hash)) !== JSON.stringify(this.#route);
    if (!this.#entering) {
      (this.#middle.querySelector('#operation-title') || this.#middle).focus({preventScroll: true});
    }
  }

  /** Opens an operation with values, and calls it. */
  send(hash) {
    this.#sends = hash;
    this.#filled = null;
    location.hash = hash;
  }

  /** Whether the search is on the screen: on a phone an operation replaces it. */
  get searchable() {
    return this.#list.node.offsetParent !== null;
  }

  focusSearch() {
    this.#list.focusSearch();
  }

  #apply(state) {
    const before = this.#state;
    this.#state = state;
    if (before.services !== state.services || before.phase !== state.phase) {
      this.#list.update(state);
    }
    this.#draw();
  }

  #draw() {
    const {phase, services, operations} = this.#state;
    const {view, host, method, port, path, event} = this.#route;
    if (phase !== 'ready' || this.#awaitsEvents()) {
      this.#showState(phase === 'ready' ? 'loading' : phase);
      return;
    }
    const operation = operations.get(`${method} /${host}:${port}${path}`);
    const service = services.find((one) => one.host === host);
    if (event) {
      this.#drawEvent();
      return;
    }
    if (method && operation) {
      this.#showOperation(operation);
    } else if (method && this.#last?.key === `/${host}:${port}${path}` && this.#last.method === method) {
      this.#showGone();
    } else if (view || method || (host && !service)) {
      this.#showUnknown();
      return;
    } else if (service) {
      const instances = this.#state.instances[host] || [];
      this.#put(
        'service',
        [[...service.operations, ...service.events, ...service.subscriptions].map((one) => one.fingerprint), instances],
        () => serviceView(service, instances, this.#charts.node),
      );
      this.#charts.show(host);
    } else if (services.length === 0) {
      this.#put('empty', this.#state.leftOut, () => emptyView(this.#state, this.#caller));
    } else {
      const facts = services.map((one) => [one.host, one.description, one.operations.length, one.events.length]);
      this.#put('start', [this.#state.leftOut, facts, this.#state.instances], () => startView(this.#state));
    }
    this.title = method ? `${method.toUpperCase()} ${host}${path}` : host || pluralize(services.length, 'service');
    this.actions.entitle(this);
  }

  /** Whether what the route asks for may be among the events, which are not there yet. */
  #awaitsEvents() {
    const {complete, services} = this.#state;
    const {host, method, event} = this.#route;
    const there = host ? !event && (method || services.some((one) => one.host === host)) : services.length > 0;
    return !complete && !there;
  }

  #showState(phase) {
    const views = {
      loading: () => loadingView(),
      failed: () => failedView(this.#state.error, this.actions),
      refused: () => refusedView(this.#state.error, this.#caller, this.actions),
    };
    this.#last = null;
    this.#put(phase, this.#state.error?.message || '', views[phase]);
  }

  #showUnknown() {
    const {host, method, event} = this.#route;
    const charts = host && !method && !event ? this.#charts.node : null; // others are measured meanwhile
    this.#put('unknown', this.#route, () => unknownView(this.#route, this.#caller, charts));
    if (charts) {
      this.#charts.show(host);
    }
    this.title = 'Not on the bus';
    this.actions.entitle(this);
  }

  /** Shows a view without an operation in the middle, unless it is there already. */
  #put(kind, about, make) {
    const wanted = JSON.stringify([kind, this.#route.host, about]);
    this.#last = null;
    this.#sends = this.#state.phase === 'ready' ? '' : this.#sends;
    this.#right.replaceChildren();
    if (this.#shown !== wanted) {
      this.#shown = wanted;
      redraw(this.#middle, make());
    }
  }

  #showOperation(operation) {
    const wanted = operation.id + operation.fingerprint;
    if (this.#shown !== wanted) {
      const same = this.#last?.id === operation.id;
      const focused = same && this.#middle.contains(document.activeElement);
      this.#shown = wanted;
      this.#middle.replaceChildren(operationView(operation, () => this.#forms.get(operation.id).values));
      if (focused) {
        this.#middle.querySelector('h2').focus({preventScroll: true});
      }
    }
    this.#last = operation;
    const form = this.#formOf(operation);
    if (this.#route.query && this.#filled !== this.#route) {
      this.#filled = this.#route; // once, so that what is typed after that stays
      form.fill(this.#route.query);
    }
    if (this.#sends === location.hash) {
      this.#sends = '';
      form.submit();
    }
    if (this.#right.firstChild !== form.node) {
      this.#right.replaceChildren(form.node);
    }
  }

  #drawEvent() {
    const {host, event: name, subscriber} = this.#route;
    const event = this.#state.events.get(`${host}/${name}`);
    if (event) {
      this.#showEvent(this.#events.of(event, subscriber));
    } else if (this.#last?.event === `${host}/${name}`) {
      this.#showGone();
    } else {
      this.#showUnknown();
      return;
    }
    this.title = event ? this.#events.of(event, subscriber).title : `${name} of ${host}`;
    this.actions.entitle(this);
  }

  #showEvent(page) {
    if (this.#shown !== page) {
      this.#shown = page;
      this.#middle.replaceChildren(page.node);
    }
    const aside = page.aside ? [page.aside] : [];
    if (this.#right.firstChild !== page.aside) {
      this.#right.replaceChildren(...aside);
    }
    this.#last = {event: `${this.#route.host}/${this.#route.event}`};
    this.#events.follow(page);
  }

  /** Says that the operation or event shown has left the bus; what was typed stays. */
  #showGone() {
    if (this.#shown !== gone) {
      this.#shown = gone;
      this.#middle.prepend(
        element(
          'p',
          {className: 'notice', role: 'alert'},
          `This ${this.#last.event ? 'event' : 'operation'} is no longer on the bus, or no longer visible to you, as of ${new Date().toLocaleTimeString()}. Your input is kept in case it comes back.`,
        ),
      );
    }
  }

  #formOf(operation) {
    const {id} = operation;
    let form = this.#forms.get(id);
    if (form) {
      form.update(operation, this.#state);
      this.#forms.delete(id);
    } else {
      form = new RequestForm(operation, this.#caller, this.#state);
    }
    this.#forms.set(id, form);
    if (this.#forms.size > mostForms) {
      this.#forms.delete(this.#forms.keys().next().value);
    }
    return form;
  }
}
