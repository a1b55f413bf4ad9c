import {Banner} from './banner.js';
import {Bus} from './bus.js';
import {Caller, TokenPanel} from './caller.js';
import {Compare} from './compare.js';
import {DeadLetterView} from './deadletterview.js';
import {Explorer} from './explorer.js';
import {History} from './history.js';
import {onKey} from './keys.js';
import {LiveView} from './live.js';
import {Login} from './login.js';
import {MapView} from './map.js';
import {Notices} from './notices.js';
import {readRoute} from './route.js';
import {TraceView} from './tracepage.js';
import {TypeView} from './types.js';

const caller = new Caller('token');
const other = new Caller('token-b'); // the caller for comparison
const bus = new Bus(caller);
const otherBus = new Bus(other);
const login = new Login(caller);
const panel = new TokenPanel(caller, bus, login);
const actions = {
  again: () => bus.poll(),
  changeToken: () => panel.open(),
  dropToken: () => caller.change(''),
  entitle: (view) => view.node.isConnected && entitle(view),
};
const explorer = new Explorer(caller, bus, actions);
const compare = new Compare([caller, other], [bus, otherBus]);
const map = new MapView(caller, bus);

// A view is {node, title, show(route)}. The address selects it, "#/compare"; anything unknown is the explorer.
const views = new Map([
  ['', explorer],
  ['map', map],
  ['compare', compare],
  ['types', new TypeView(bus, actions)],
  ['live', new LiveView(caller, actions)],
  ['deadletters', new DeadLetterView(caller)],
  ['trace', new TraceView(caller, bus, actions)],
  ['history', new History((hash) => explorer.send(hash))],
]);

const mostParts = {map: 3, types: 2, trace: 1}; // that the address of a view names; none of others

const main = document.getElementById('main');

/** Sets the page's title to that of a view, which may be known later than the route. */
function entitle(view) {
  document.title = view.title ? `${view.title} · Busline` : 'Busline';
}

/** Shows the route in the address. */
function navigate() {
  const route = readRoute(location.hash);
  const view = (route.parts.length <= (mostParts[route.view] ?? 0) && views.get(route.view)) || explorer;
  if (main.firstChild !== view.node) {
    main.replaceChildren(view.node);
  }
  otherBus.wake(view === compare);
  view.show(route);
  entitle(view);
  for (const link of document.querySelectorAll('.views a')) {
    const here = views.get(readRoute(link.hash).view) === view;
    link.toggleAttribute('aria-current', here);
    if (here) {
      link.setAttribute('aria-current', 'page');
    }
  }
}

document.querySelector('.who').append(panel.button);
document.body.append(panel.dialog);
main.before(new Banner(caller, bus, actions).node, new Notices(caller).node);
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault(); // the address is that of the view
  (document.getElementById('operation-title') || main).focus();
});
addEventListener('hashchange', navigate);
onKey('/', () => {
  if (!explorer.searchable) {
    location.hash = '#/';
    navigate(); // at once, so that the search can have the focus
  }
  explorer.focusSearch();
});
login.complete().then(
  () => {
    bus.wake();
    navigate();
  },
  (error) => {
    bus.wake();
    navigate();
    panel.fail(error);
  },
);
