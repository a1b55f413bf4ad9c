import {button, element} from './element.js';
import {objectText} from './json.js';
import {typeText} from './schema.js';

// Fields with any number of rows; see fields.js for what a field is.

/**
 * The field of an array.
 * @param {function(Object): Object} makeField makes the field of an item from its schema
 */
export function arrayField(name, schema, makeField) {
  const items = schema.follow(schema.schema.items);
  return rowsField(
    name,
    schema,
    'Add an item',
    () => {
      const {node, text, fill, mark} = makeField(items);
      return {node, text, fill, mark};
    },
    {
      at: (rows, step) => rows[step.slice(1, -1)],
      text: (texts) => `[${texts.join(',')}]`,
      trees: (tree) => (tree.kind === 'array' ? tree.items : null),
    },
  );
}

/** The field of an object with members of any name. */
export function mapField(name, schema, makeField) {
  const values = schema.follow(schema.schema.additionalProperties);
  return rowsField(
    name,
    schema,
    'Add an entry',
    () => {
      const key = element('input', {type: 'text', placeholder: 'name', 'aria-label': 'name', spellcheck: false, autocomplete: 'off'});
      const field = makeField(values);
      return {
        node: element('div', {className: 'entry'}, key, field.node),
        text: () => objectText([[key.value, field.text() ?? 'null']]).slice(1, -1),
        fill: ([keyText, tree]) => {
          key.value = keyText;
          return field.fill(tree);
        },
        mark: field.mark,
        get name() {
          return key.value;
        },
      };
    },
    {
      at: (rows, step) => rows.find(({name}) => name === step),
      text: (texts) => `{${texts.join(',')}}`,
      trees: (tree) => (tree.kind === 'object' ? tree.members : null),
    },
  );
}

/** A field with any number of rows. Nothing is sent while there are none. */
function rowsField(name, schema, adds, makeRow, {at, text, trees}) {
  const rows = [];
  const list = element('div', {className: 'rows'});
  const add = () => {
    const row = makeRow();
    const remove = button(
      'Remove',
      () => {
        rows.splice(rows.indexOf(row), 1);
        row.line.remove();
        more.focus();
        more.dispatchEvent(new Event('input', {bubbles: true}));
      },
      {className: 'small'},
    );
    row.line = element('div', {className: 'row'}, row.node, remove);
    rows.push(row);
    list.append(row.line);
    return row;
  };
  const more = button(
    adds,
    () => {
      const row = add();
      row.line.querySelector('input, select, textarea')?.focus();
      more.dispatchEvent(new Event('input', {bubbles: true}));
    },
    {className: 'small'},
  );
  return {
    node: element('fieldset', {}, legend(name, schema), list, more),
    text: () => (rows.length === 0 ? undefined : text(rows.map((row) => row.text() ?? 'null'))),
    fill: (tree) => {
      const items = tree ? trees(tree) : [];
      rows.splice(0);
      list.replaceChildren();
      return Boolean(items?.map((item) => add().fill(item)).every(Boolean));
    },
    mark: ([first, ...rest], detail) => Boolean(first && at(rows, first)?.mark(rest, detail)),
  };
}

/** The name and the type of a group of fields. */
export function legend(name, schema) {
  return element('legend', {}, element('code', {}, name), ' ', element('span', {className: 'quiet'}, typeText(schema)));
}
