import {arrange, button, element, pluralize} from './element.js';
import {moveFocus} from './keys.js';
import {eventHash, operationHash, pathView, serviceHash, viewHash} from './route.js';
import {search} from './search.js';
import {leftOutTitle} from './states.js';

const alwaysOpen = 60; // operations and events; on a larger bus services are collapsed at first
const longList = 200; // services; a list of more is laid out as far as it is in sight
const mostFound = 200; // search results shown, unless the user wants all

/**
 * The services with their operations and events, and a search among them. Those of a collapsed service are not in the
 * page at all, and the row of a service is made anew only if it changes, so that a bus with a thousand services is as
 * fast as a small one.
 */
export class List {
  node;
  #search = element('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Search',
    autocomplete: 'off',
    spellcheck: false,
    'aria-describedby': 'search-help',
    'aria-controls': 'services',
  });
  #count = element('p', {className: 'quiet count', role: 'status'});
  #leftOut = element('a', {className: 'left-out', href: '#/', hidden: true});
  #list = element('ul', {id: 'services', className: 'services'});
  #services = [];
  #allTypes = () => new Map(); // of the bus, by id
  #rows = new Map(); // by host: {row, open, count, hits}
  #all = false; // whether the user wants all that is found
  #open = new Map(); // what the user has expanded or collapsed, by host
  #current = {}; // the route
  #marked = null; // its link

  #leave; // moves the focus to what is shown

  /** @param {function()} leave moves the focus from the search to what is shown */
  constructor(leave) {
    this.#leave = leave;
    this.#search.addEventListener('input', () => {
      this.#all = false;
      this.#draw();
      this.#toTop();
    });
    this.#search.addEventListener('keydown', (event) => this.#searchKey(event));
    this.#list.addEventListener('keydown', (event) => this.#listKey(event));
    this.#list.addEventListener('focusin', ({target}) => target.matches('a') && this.#enterAt(target));
    this.node = element(
      'nav',
      {className: 'list', 'aria-label': 'Services'},
      element(
        'div',
        {className: 'search'},
        element('label', {htmlFor: 'search', className: 'visually-hidden'}, 'Search services, operations and events'),
        this.#search,
        element('kbd', {'aria-hidden': 'true'}, '/'),
        element('span', {id: 'search-help', className: 'visually-hidden'}, 'Arrow keys move, Enter opens, Escape clears.'),
      ),
      this.#count,
      this.#leftOut,
      this.#list,
    );
  }

  /** Shows the services on the bus, and keeps what is expanded, searched, focused and scrolled to. */
  update({services, leftOut, types}) {
    this.#services = services;
    this.#allTypes = types;
    this.#list.classList.toggle('long', services.length > longList);
    const hosts = new Set(services.map(({host}) => host));
    this.#rows = new Map([...this.#rows].filter(([host]) => hosts.has(host)));
    this.#leftOut.textContent = leftOutTitle(leftOut);
    this.#leftOut.hidden = leftOut.length === 0;
    const known = this.#currentLink();
    this.#draw();
    if (!known && !this.#words().length) {
      this.reveal(); // who searches looks at what is found, whatever comes back meanwhile
    }
  }

  /** Marks the current route, and expands its service; reveal brings it in sight. */
  show(route) {
    if (route.host && route.host !== this.#current.host && !this.#words().length) {
      this.#open.set(route.host, true);
    }
    this.#current = route;
    this.#draw();
  }

  /** Brings the current route in sight, if it is in the list. */
  reveal() {
    this.#currentLink()?.scrollIntoView({block: 'nearest'});
  }

  focusSearch() {
    this.#search.focus();
    this.#search.select();
  }

  #currentLink() {
    return this.#list.querySelector('[aria-current]');
  }

  /** Shows what is found from the first on: in a list that scrolls by itself, or in a page that has scrolled. */
  #toTop() {
    this.node.scrollTop = 0;
    if (this.node.getBoundingClientRect().top < 0) {
      this.node.scrollIntoView();
    }
  }

  #words() {
    return this.#search.value.toLowerCase().split(/\s+/).filter(Boolean);
  }

  #draw() {
    const scrolled = this.node.scrollTop;
    const focused = this.#list.contains(document.activeElement) ? document.activeElement.dataset.at : '';
    const words = this.#words();
    const rows = words.length > 0 ? this.#foundRows(words) : this.#allRows();
    arrange(this.#list, rows);
    this.#markCurrent();
    this.node.scrollTop = scrolled;
    const same = focused && this.#linkAt(focused);
    this.#enterAt(same || this.#currentLink() || this.#list.querySelector('a'));
    if (same && same !== document.activeElement) {
      same.focus({preventScroll: true});
    }
  }

  #linkAt(at) {
    return this.#list.querySelector(`[data-at="${CSS.escape(at)}"]`);
  }

  #markCurrent() {
    const {host, port, method, path, event} = this.#current;
    const at = event ? `event ${host}/${event}` : method ? `${method} /${host}:${port}${path}` : host;
    this.#marked?.removeAttribute('aria-current');
    this.#marked = at ? this.#linkAt(at) : null;
    this.#marked?.setAttribute('aria-current', 'page');
  }

  /** Lets the Tab key enter the list at a link. It is one stop, however long: in it, arrow keys move. */
  #enterAt(link) {
    this.#list.querySelectorAll('a[tabindex="0"]').forEach((other) => {
      other.tabIndex = -1;
    });
    if (link) {
      link.tabIndex = 0;
    }
  }

  #allRows() {
    const all = this.#services.flatMap(partsOf);
    const total = all.length;
    this.#count.textContent = total ? `${pluralize(this.#services.length, 'service')}, ${countText(all)}` : '';
    return this.#services.map((service) => {
      const open = this.#open.get(service.host) ?? total <= alwaysOpen;
      return this.#serviceRow(service, open, open ? partsOf(service).map((part) => ({part, matched: ''})) : []);
    });
  }

  #foundRows(words) {
    const most = this.#all ? Infinity : mostFound;
    const {hits: found, similar} = search([...this.#services.flatMap(partsOf), ...this.#types()], words);
    const hosts = new Map();
    for (const hit of found) {
      const host = hostOf(hit.part);
      hosts.set(host, [...(hosts.get(host) || []), hit]);
    }
    const best = (host) => Math.min(...hosts.get(host).map(({rank}) => rank));
    const ranked = this.#services.filter(({host}) => hosts.has(host)).sort((a, b) => best(a.host) - best(b.host));
    const rows = [];
    let shown = 0;
    for (const service of ranked) {
      const hits = hosts.get(service.host).sort((a, b) => a.rank - b.rank);
      if (shown < most) {
        rows.push(this.#serviceRow(service, true, hits.slice(0, most - shown)));
      }
      shown += hits.length;
    }
    const parts = found.map(({part}) => part);
    this.#count.textContent =
      found.length === 0
        ? 'Nothing found. Try fewer words.'
        : `${countText(parts)} of ${pluralize(hosts.size, 'service')} found${similar ? ', by similar words' : ''}`;
    if (found.length > most) {
      rows.push(
        element(
          'li',
          {className: 'quiet more'},
          `… and ${found.length - most} more. Type more words, or `,
          button(`show all ${found.length}`, () => this.#showAll(), {className: 'small'}),
        ),
      );
    }
    return rows;
  }

  /** Shows all that is found, and moves the focus to the first that was not shown. */
  #showAll() {
    const shown = this.#list.querySelectorAll('a').length;
    this.#all = true;
    this.#draw();
    this.#list.querySelectorAll('a')[shown]?.focus();
  }

  /** The types that the search finds: not those of arguments and results as a whole, nor those that all services have. */
  #types() {
    const everywhere = ['Problem', 'ArgumentError'];
    return [...this.#allTypes().values()].filter(({name}) => !/_(in|out)$/.test(name) && !everywhere.includes(name));
  }

  /** hits are {part, matched}. */
  #serviceRow(service, open, hits) {
    const {host} = service;
    const count = partsOf(service).length;
    const known = this.#rows.get(host);
    if (
      known?.open === open &&
      known.count === count &&
      known.hits.length === hits.length &&
      known.hits.every(({part, matched}, at) => part === hits[at].part && matched === hits[at].matched)
    ) {
      return known.row;
    }
    const row = this.#newServiceRow(host, open, hits, count);
    this.#rows.set(host, {row, open, count, hits});
    return row;
  }

  #newServiceRow(host, open, hits, count) {
    const toggle = button('', () => this.#toggle(host, !open), {
      className: 'toggle',
      tabIndex: -1,
      'aria-expanded': String(open),
      'aria-label': `Operations and events of ${host}`,
      disabled: count === 0,
    });
    const link = element(
      'a',
      {href: serviceHash(host), className: 'host', tabIndex: -1},
      host,
      open ? '' : element('span', {className: 'quiet'}, ` ${count}`),
    );
    link.dataset.at = link.dataset.host = host;
    const row = element('li', {className: 'service'}, element('div', {className: 'service-row'}, toggle, link));
    row.style.setProperty('--lines', 1 + hits.length);
    if (hits.length > 0) {
      row.append(element('ul', {'aria-label': host}, ...hits.map(({part, matched}) => this.#partRow(part, matched))));
    }
    return row;
  }

  #partRow(part, matched) {
    const row = part.isType ? this.#typeRow(part) : part.publisher ? this.#eventRow(part) : this.#operationRow(part);
    if (matched) {
      row.firstChild.append(element('span', {className: 'quiet matched'}, matched));
    }
    return row;
  }

  #typeRow({host, name, id}) {
    const link = element(
      'a',
      {href: viewHash('types', host, name), tabIndex: -1},
      element('span', {className: 'method'}, 'TYPE'),
      element('span', {className: 'path'}, name),
    );
    link.dataset.at = `type ${id}`;
    link.dataset.host = host;
    return element('li', {}, link);
  }

  #operationRow(operation) {
    const {host, method} = operation;
    const link = element(
      'a',
      {href: operationHash(operation), tabIndex: -1},
      element('span', {className: `method ${method}`}, method.toUpperCase()),
      pathView(operation, 'visually-hidden'),
      operation.secured && element('span', {className: 'lock', title: 'asks for a token', role: 'img', 'aria-label': 'asks for a token'}),
    );
    link.dataset.at = operation.id;
    link.dataset.host = host;
    return element('li', {}, link);
  }

  #eventRow(event) {
    const link = element(
      'a',
      {href: eventHash(event), tabIndex: -1},
      element('span', {className: 'method event'}, 'EVENT'),
      element('span', {className: 'path'}, event.name),
    );
    link.dataset.at = `event ${event.id}`;
    link.dataset.host = event.publisher;
    return element('li', {}, link);
  }

  #toggle(host, open) {
    this.#open.set(host, open);
    this.#draw();
  }

  #searchKey(event) {
    const first = this.#list.querySelector(':scope ul a') || this.#list.querySelector('a');
    switch (event.key) {
      case 'ArrowDown':
        event.preventDefault();
        first?.focus();
        break;
      case 'Enter':
        if (this.#search.value && first) {
          first.click();
          this.#leave();
        }
        break;
      case 'Escape':
        event.preventDefault();
        this.#clear();
        break;
    }
  }

  #listKey(event) {
    const at = document.activeElement;
    if (event.key === 'Escape') {
      this.#clear();
      this.#search.focus();
    } else if (event.key === 'ArrowUp' && at === this.#list.querySelector('a')) {
      event.preventDefault();
      this.#search.focus();
    } else if (event.key === 'ArrowRight' && at.matches('.host')) {
      this.#toggle(at.dataset.host, true);
    } else if (event.key === 'ArrowLeft' && at.dataset.host) {
      this.#list.querySelector(`.host[data-host="${CSS.escape(at.dataset.host)}"]`)?.focus();
      this.#toggle(at.dataset.host, !at.matches('.host'));
    } else {
      moveFocus(event, [...this.#list.querySelectorAll('a')]);
    }
  }

  #clear() {
    if (this.#search.value) {
      this.#search.value = '';
      if (this.#current.host) {
        this.#open.set(this.#current.host, true);
      }
      this.#draw();
      this.reveal();
    } else {
      this.#leave();
    }
  }
}

/** What is below a service: operations, then events. */
function partsOf({operations, events}) {
  return [...operations, ...events];
}

function hostOf({host, publisher}) {
  return host || publisher;
}

/** "2 operations, 1 event". */
function countText(parts) {
  const events = parts.filter(({publisher}) => publisher).length;
  const types = parts.filter(({isType}) => isType).length;
  const operations = parts.length - events - types;
  return [
    (operations > 0 || events + types === 0) && pluralize(operations, 'operation'),
    events > 0 && pluralize(events, 'event'),
    types > 0 && pluralize(types, 'type'),
  ]
    .filter(Boolean)
    .join(', ');
}
