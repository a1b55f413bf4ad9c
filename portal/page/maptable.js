import {element} from './element.js';
import {compactNumber, durationText, rateText} from './mapdata.js';
import {flowColumns} from './mapevents.js';

// The tables beside the map: the same figures in a form that does not need the picture, also for small screens.


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
  #sort;
  #body = element('tbody');
  #heads;

  constructor(caption, columns, keyOf, choose) {
    [this.#columns, this.#keyOf, this.#choose] = [columns, keyOf, choose];
    this.#heads = columns.map((column) => {
      const button = element('button', {type: 'button', onclick: () => this.#sortBy(column)}, column.title);
      return element('th', {scope: 'col', className: column.number ? 'number' : ''}, button);
    });
    const table = element('table', {className: 'map-table wide'},
      element('caption', {}, caption), element('thead', {}, element('tr', {}, ...this.#heads)), this.#body);
    this.node = element('div', {className: 'map-scroll'}, table);
    this.#sort = {column: columns.find(({first}) => first), down: true};
    this.#sortBy(this.#sort.column, true);
  }

  show(rows) {
    this.#shown = rows;
    const keys = new Set(rows.map(this.#keyOf));
    for (const [key, row] of this.#rows) {
      if (!keys.has(key)) {
        row.remove();
        this.#rows.delete(key);
      }
    }
    for (const each of rows) {
      this.#fill(this.#rows.get(this.#keyOf(each)) || this.#newRow(this.#keyOf(each)), each);
    }
    this.#arrange();
  }

  mark(chosen) {
    for (const [key, row] of this.#rows) {
      row.classList.toggle('chosen', key === chosen);
    }
  }

  #newRow(key) {
    const cells = this.#columns.map(({title, number}, at) => at === 0 ? element('th', {scope: 'row'}, element('button', {type: 'button', onfocus: () => this.#choose(key, false), onblur: () => this.#choose('', false)}))
      : element('td', {className: number ? 'number' : '', 'data-label': title}));
    const row = element('tr', {onpointerenter: () => this.#choose(key, false), onpointerleave: () => this.#choose('', false), onclick: () => this.#choose(key, true)}, ...cells);
    this.#rows.set(key, row);
    return row;
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
    this.#arrange();
  }

  // Rows are moved only where the order differs, and a focused button in a moved row keeps the focus.
  #arrange() {
    const focused = document.activeElement;
    const {column, down} = this.#sort;
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const sorted = [...this.#shown].sort((a, b) =>
      compare(column.value(a), column.value(b)) * (down ? -1 : 1) || compare(this.#keyOf(a), this.#keyOf(b)));
    sorted.forEach((each, at) => {
      const row = this.#rows.get(this.#keyOf(each));
      if (this.#body.children[at] !== row) {
        this.#body.insertBefore(row, this.#body.children[at] || null);
      }
    });
    if (this.#body.contains(focused) && document.activeElement !== focused) {
      focused.focus({preventScroll: true});
    }
  }
}

const recent = ({figures}) => figures?.recent || {calls: 0, rate: 0, refused: 0, failed: 0, refusedRate: 0, failedRate: 0};

const figureColumns = [
  {title: 'Calls/s', number: true, first: true, value: (row) => recent(row).rate, text: (row) => rateText(recent(row).rate)},
  {title: 'p50', number: true, value: (row) => recent(row).p50 ?? -1, text: (row) => durationText(recent(row).p50)},
  {title: 'p99', number: true, value: (row) => recent(row).p99 ?? -1, text: (row) => durationText(recent(row).p99)},
  {title: 'Errors', number: true, value: (row) => recent(row).failed * 1e9 + recent(row).refused, text: (row) => errorText(row)},
  {title: 'Calls', number: true, value: (row) => row.figures?.calls ?? 0, text: (row) => row.figures?.calls === null ? '–' : compactNumber(row.figures?.calls ?? 0)},
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
  return new SortedTable('Calls', [
    {title: 'Caller → callee', value: ({key}) => key, text: ({from, to}) => `${from} → ${to}`},
    ...figureColumns,
  ], ({key}) => key, choose);
}

/** The table of where events go. */
export function flowsTable(choose) {
  return new SortedTable('Events', flowColumns, ({key}) => key, choose);
}

/** The table of services. */
export function servicesTable(choose) {
  const versions = ({instances}) => [...new Set(instances.map(({version}) => version || '–'))].sort().join(', ');
  return new SortedTable('Services', [
    {title: 'Service', value: ({name}) => name, text: ({name}) => name},
    {title: 'Instances', number: true, value: ({instances}) => instances.length, text: ({instances}) => String(instances.length)},
    {title: 'Version', value: versions, text: versions},
    ...figureColumns.filter(({title}) => title !== 'p50'),
  ], ({name}) => name, choose);
}
