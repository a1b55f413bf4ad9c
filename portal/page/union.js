import {element} from './element.js';
import {fieldFor, membersOf, oneInput} from './fields.js';
import {objectText} from './json.js';
import {legend} from './rows.js';
import {fields, variants} from './schema.js';

// A value of several kinds, told apart by a member; see fields.js for what a field is.

/** The field of a union: a choice of the variant, and the fields of its members. What is typed into one variant is kept. */
export function unionField(name, schema, {required, ...inner}) {
  const kind = schema.schema.discriminator.propertyName;
  const all = variants(schema);
  const made = new Map(); // the fields of the variants shown so far, by name
  const inputs = element('div');
  const select = element(
    'select',
    {},
    ...(required ? [] : [element('option', {value: ''}, '(not sent)')]),
    ...all.map((variant) => element('option', {value: variant.name}, variant.name)),
  );
  const chosen = () => {
    const variant = all.find((one) => one.name === select.value);
    if (!variant) {
      return undefined;
    }
    if (!made.has(variant.name)) {
      const members = fields(variant.schema)
        .filter((member) => member.name !== kind)
        .map((member) => [member.name, fieldFor(member.name, member.schema, {...inner, required: member.required})]);
      made.set(variant.name, {members, ...membersOf(members, true)});
    }
    return made.get(variant.name);
  };
  const show = () => inputs.replaceChildren(...(chosen()?.members ?? []).map(([, field]) => field.node));
  select.addEventListener('input', show);
  const choice = {schema: {type: 'string', enum: all.map((variant) => variant.name)}, name: '', follow: schema.follow};
  const choose = oneInput(kind, choice, required, select, {});
  show();
  return {
    node: element('fieldset', {}, legend(name, schema), choose.node, inputs),
    text: () => {
      const members = chosen()?.members;
      const texts = members?.map(([member, field]) => [member, field.text()]).filter(([, text]) => text !== undefined);
      return texts && objectText([[kind, JSON.stringify(select.value)], ...texts]);
    },
    fill: (tree) => {
      const members = tree?.kind === 'object' ? tree.members : [];
      const said = members.find(([member]) => member === kind)?.[1];
      select.value = said?.kind === 'string' ? said.value : '';
      if (select.selectedIndex < 0) {
        select.selectedIndex = 0;
      }
      show();
      const rest = {kind: 'object', members: members.filter(([member]) => member !== kind)};
      const known = !tree || select.value === said?.value;
      return (chosen()?.fill(rest) ?? members.length === 0) && known;
    },
    mark: ([first, ...rest], detail) =>
      first === undefined || first === kind ? choose.mark(rest, detail) : Boolean(chosen()?.mark([first, ...rest], detail)),
  };
}
