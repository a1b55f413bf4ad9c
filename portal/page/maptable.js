import {arrange, button, element} from './element.js';
import {compactNumber, durationText, rateText} from './mapdata.js';
import {flowColumns} from './mapevents.js';
import {healthOf} from './maphealth.js';

// The tables beside the map: the same figures in a form that does not need the picture, also for small screens.

const mostRows = 100; // of a table, unless the user wants all

/**
 * A table with sortable rows, whose elements stay the same from one update to the next. A column is {title, text(row),
 * value(row), number}: what it shows, and by what it is sorted. The first one is the row's header.
 */
class SortedTable {
  #columns;
  #keyOf;
  #choose;
  #rows = new Map();
  #shown = [];
  #most = mostRows;
  #more = button('', () => this.#showAll(), {className: 'small map-more'});
  #sort;
  #body = element('tbody');
  #heads;

  constructor(caption, columns, keyOf, choose) {
    [this.#columns, this.#keyOf, this.#choose] = [columns, keyOf, choose];
    this.#heads = columns.map((column) => {
      return element(
        'th',
        {scope: 'col', className: column.number ? 'number' : ''},
        button(column.title, () => this.#sortBy(column)),
      );
    });
    const table = element(
      'table',
      {className: 'map-table wide'},
      element('caption', {}, caption),
      element('thead', {}, element('tr', {}, ...this.#heads)),
      this.#body,
    );
    this.node = element('div', {className: 'map-scroll'}, table, this.#more);
    this.#sort = {column: columns.find(({first}) => first), down: true};
    this.#sortBy(this.#sort.column, true);
  }

  show(rows) {
    this.#shown = rows;
    this.#draw();
  }

  mark(chosen) {
    for (const [key, row] of this.#rows) {
      row.classList.toggle('chosen', key === chosen);
    }
  }

  #newRow(key) {
    const cells = this.#columns.map(({title, number}, at) =>
      at === 0
        ? element(
            'th',
            {scope: 'row'},
            element('button', {type: 'button', onfocus: () => this.#choose(key, false), onblur: () => this.#choose('', false)}),
          )
        : element('td', {className: number ? 'number' : '', 'data-label': title}),
    );
    return element(
      'tr',
      {
        onpointerenter: () => this.#choose(key, false),
        onpointerleave: () => this.#choose('', false),
        onclick: () => this.#choose(key, true),
      },
      ...cells,
    );
  }

  #fill(row, each) {
    this.#columns.forEach(({text}, at) => {
      const cell = row.cells[at];
      const written = at === 0 ? cell.firstChild : cell;
      const [shown, level] = [text(each)].flat();
      if (written.textContent !== shown) {
        written.textContent = shown;
      }
      cell.classList.toggle('failed', level === 'failed');
      cell.classList.toggle('refused', level === 'refused');
    });
  }

  #sortBy(column, again = false) {
    if (!again) {
      this.#sort = {column, down: this.#sort.column === column ? !this.#sort.down : Boolean(column.number)};
    }
    this.#heads.forEach((head, at) => {
      if (this.#columns[at] === this.#sort.column) {
        head.setAttribute('aria-sort', this.#sort.down ? 'descending' : 'ascending');
      } else {
        head.removeAttribute('aria-sort');
      }
    });
    this.#draw();
  }

  #showAll() {
    this.#most = Infinity;
    this.#draw();
    this.#body.rows[mostRows]?.querySelector('button').focus();
  }

  // Rows are moved only where the order differs. The row that has the focus is shown, and keeps it.
  #draw() {
    const focused = document.activeElement;
    const shown = this.#sorted().filter((each, at) => at < this.#most || this.#rows.get(this.#keyOf(each))?.contains(focused));
    const rows = new Map(
      shown.map((each) => {
        const key = this.#keyOf(each);
        const row = this.#rows.get(key) || this.#newRow(key);
        this.#fill(row, each);
        return [key, row];
      }),
    );
    this.#rows = rows;
    arrange(this.#body, [...rows.values()]);
    this.#more.hidden = rows.size === this.#shown.length;
    this.#more.textContent = `Show all ${this.#shown.length}`;
    if (this.#body.contains(focused) && document.activeElement !== focused) {
      focused.focus({preventScroll: true});
    }
  }

  #sorted() {
    const {column, down} = this.#sort;
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    return this.#shown
      .map((each) => ({each, key: this.#keyOf(each), value: column.value(each)}))
      .sort((a, b) => compare(a.value, b.value) * (down ? -1 : 1) || compare(a.key, b.key))
      .map(({each}) => each);
  }
}

const recent = ({figures}) => figures?.recent || {calls: 0, rate: 0, refused: 0, failed: 0, refusedRate: 0, failedRate: 0};

const figureColumns = [
  {title: 'Calls/s', number: true, first: true, value: (row) => recent(row).rate, text: (row) => rateText(recent(row).rate)},
  {title: 'p50', number: true, value: (row) => recent(row).p50 ?? -1, text: (row) => durationText(recent(row).p50)},
  {title: 'p99', number: true, value: (row) => recent(row).p99 ?? -1, text: (row) => durationText(recent(row).p99)},
  {title: 'Errors', number: true, value: (row) => recent(row).failed * 1e9 + recent(row).refused, text: (row) => errorText(row)},
  {
    title: 'Calls',
    number: true,
    value: (row) => row.figures?.calls ?? 0,
    text: (row) => (row.figures?.calls === null ? '–' : compactNumber(row.figures?.calls ?? 0)),
  },
];

function errorText(row) {
  const {failed, refused} = recent(row);
  if (row.kind === 'absent') {
    return [`${compactNumber(failed)} not there`, 'failed'];
  }
  if (failed > 0) {
    return [`${compactNumber(failed)} failed${refused > 0 ? `, ${compactNumber(refused)} refused` : ''}`, 'failed'];
  }
  return refused > 0 ? [`${compactNumber(refused)} refused`, 'refused'] : '0';
}

/** The table of who calls whom. */
export function callsTable(choose) {
  return new SortedTable(
    'Calls',
    [{title: 'Caller → callee', value: ({key}) => key, text: ({from, to}) => `${from} → ${to}`}, ...figureColumns],
    ({key}) => key,
    choose,
  );
}

/** The table of where events go. */
export function flowsTable(choose) {
  return new SortedTable('Events', flowColumns, ({key}) => key, choose);
}

/** The name of a service, and what is wrong with it. */
function nameText(row) {
  const {level, text} = healthOf(row);
  return [
    [row.name, level !== 'failed' && text].filter(Boolean).join(', '),
    {gone: 'failed', failing: 'failed', unready: 'refused'}[level],
  ];
}

/** The table of services. */
export function servicesTable(choose) {
  const versions = ({instances}) => [...new Set(instances.map(({version}) => version || '–'))].sort().join(', ');
  return new SortedTable(
    'Services',
    [
      {title: 'Service', value: ({name}) => name, text: nameText},
      {title: 'Instances', number: true, value: ({instances}) => instances.length, text: ({instances}) => String(instances.length)},
      {title: 'Version', value: versions, text: versions},
      ...figureColumns.filter(({title}) => title !== 'p50'),
    ],
    ({name}) => name,
    choose,
  );
}
