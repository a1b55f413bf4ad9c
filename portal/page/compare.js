import {claimsView} from './caller.js';
import {button, element, pluralize, redraw} from './element.js';
import {operationHash, pathView} from './route.js';

const letters = ['A', 'B'];

/** The view that compares two callers: what each of them can see of the bus. */
export class Compare {
  node;
  title = 'Compare';
  #buses;
  #columns;
  #only = element('input', {type: 'checkbox', id: 'only'});
  #table = element('div', {className: 'table'});
  #summary = element('p', {role: 'status'});

  constructor(callers, buses) {
    this.#buses = buses;
    this.#columns = callers.map((caller, at) => column(caller, letters[at]));
    this.#only.addEventListener('change', () => this.#draw());
    this.node = element(
      'div',
      {className: 'compare'},
      element('h2', {tabIndex: -1}, 'Compare two callers'),
      element('p', {}, 'What each of two tokens may see of the bus. No token means nobody. A is the caller that the page acts for.'),
      element('div', {className: 'columns'}, ...this.#columns.map(({node}) => node)),
      this.#summary,
      element('p', {}, this.#only, ' ', element('label', {htmlFor: 'only'}, 'Only what differs')),
      this.#table,
    );
    for (const bus of buses) {
      bus.onChange(() => this.#draw());
    }
  }

  show() {
    for (const column of this.#columns) {
      column.read();
    }
    this.#draw();
  }

  #draw() {
    if (!this.node.isConnected) {
      return;
    }
    const states = this.#buses.map(({state}) => state);
    for (const [at, column] of this.#columns.entries()) {
      column.say(stateText(states[at]));
    }
    if (states.some(({phase}) => phase !== 'ready')) {
      this.#summary.textContent = '';
      this.#table.replaceChildren();
      return;
    }
    const [a, b] = states.map(({operations}) => operations);
    const all = [...new Map([...a, ...b]).values()].sort((x, y) => (x.key < y.key ? -1 : x.key > y.key ? 1 : 0));
    const differing = all.filter(({id}) => a.has(id) !== b.has(id));
    this.#summary.textContent =
      `A sees ${pluralize(a.size, 'operation')}, B ${b.size}. ` +
      `${all.filter(({id}) => !b.has(id)).length} only A, ${all.filter(({id}) => !a.has(id)).length} only B.`;
    redraw(this.#table, tableOf(this.#only.checked ? differing : all, [a, b]));
  }
}

function column(caller, letter) {
  const input = element('input', {type: 'password', id: `token-${letter}`, autocomplete: 'off', spellcheck: false, placeholder: 'nobody'});
  const about = element('details', {}, element('summary', {}, 'What it says'));
  const status = element('p', {className: 'quiet', role: 'status'});
  const showClaims = () => about.replaceChildren(about.firstChild, claimsView(input.value));
  const form = element(
    'form',
    {},
    element('div', {className: 'field'}, element('label', {htmlFor: input.id}, `Token ${letter}`), input),
    element(
      'div',
      {className: 'buttons'},
      element('button', {type: 'submit', className: 'small'}, `Use as ${letter}`),
      button(
        'Remove',
        () => {
          input.value = '';
          form.requestSubmit();
        },
        {className: 'small plain', 'aria-label': `Remove token ${letter}`},
      ),
    ),
    status,
    about,
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    caller.change(input.value);
    showClaims();
  });
  const read = () => {
    input.value = caller.token;
    showClaims();
  };
  caller.onChange(read);
  return {
    node: element('section', {'aria-label': `Caller ${letter}`}, form),
    read,
    say: ({text, bad}) => {
      status.textContent = text;
      status.className = bad ? 'notice bad' : 'quiet';
    },
  };
}

function stateText({phase, error, services, operations}) {
  switch (phase) {
    case 'loading':
      return {text: 'Asking the bus …'};
    case 'refused':
      return {text: `Refused: ${error.message}.`, bad: true};
    case 'failed':
      return {text: `The bus cannot be read: ${error.message}.`, bad: true};
    default:
      return {
        text: `Sees ${pluralize(operations.size, 'operation')} of ${pluralize(services.filter((one) => one.operations.length > 0).length, 'service')}.`,
      };
  }
}

function tableOf(operations, sides) {
  if (operations.length === 0) {
    return element('p', {className: 'quiet'}, 'Both see the same.');
  }
  const rows = [];
  let host = '';
  for (const operation of operations) {
    if (operation.host !== host) {
      ({host} = operation);
      rows.push(element('tr', {className: 'group'}, element('th', {colSpan: 3, scope: 'colgroup'}, host)));
    }
    const seen = sides.map((side) => side.has(operation.id));
    rows.push(
      element(
        'tr',
        {className: seen[0] === seen[1] ? '' : 'differs'},
        element(
          'th',
          {scope: 'row'},
          seen[0] ? element('a', {href: operationHash(operation)}, ...label(operation)) : element('span', {}, ...label(operation)),
        ),
        ...seen.map((sees) => element('td', {className: sees ? 'sees' : 'hidden-from'}, sees ? 'sees' : 'not')),
      ),
    );
  }
  const head = element(
    'tr',
    {},
    element('th', {scope: 'col'}, 'Operation'),
    ...letters.map((letter) => element('th', {scope: 'col'}, letter)),
  );
  return element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows));
}

function label(operation) {
  const {method} = operation;
  return [element('span', {className: `method ${method}`}, method.toUpperCase()), ' ', pathView(operation, 'visually-hidden')];
}
