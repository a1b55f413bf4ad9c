import {parseTree, treeText, whyNoTree} from './json.js';

// The values that a form has, as text for an address and for the history. Secrets are in neither.
//
// Such a text is a query: parameters and members of the body by their names, and with names that nothing else has,
// "~body" for a body that is no object, "~query" for what a handler gets, "~type", and "~to" for the target.

const longestText = 8000; // characters of an address

const secretName = /pass(word|wd|phrase|code)|secret|token|api[-_]?key|authorization|credential|cookie|private[-_]?key/i;
const secretWord = /^(pwd|jwt|pin|otp|sid|session)$/i; // a word of a name, as in userPin: shippingCost has a "pin", too
const secretHeader = /auth|key|session|signature/i;
const jwt = /\beyJ[\w-]{5,}\.[\w-]+\.[\w-]*/g;

/** Reports whether a value is called like a secret. */
function soundsSecret(name) {
  const words = name.replace(/([a-z\d])([A-Z])/g, '$1 $2').split(/[^A-Za-z\d]+/);
  return secretName.test(name) || words.some((word) => secretWord.test(word));
}

/** Whether a value of this name and schema is a secret: a password, what is only written, or what is called like one. */
export function isSecret(name, {schema}, place = '') {
  return schema.format === 'password' || schema.writeOnly === true || soundsSecret(name) || (place === 'header' && secretHeader.test(name));
}

/** Returns a JSON text, read as a tree, without its secrets, whose names are added to leftOut; null for a text that is not JSON. */
export function withoutSecrets(tree, schema, leftOut) {
  const candidates = alternatives(schema);
  switch (tree?.kind) {
    case 'object':
      return {
        kind: 'object',
        members: tree.members.flatMap(([name, value]) => {
          const inner = candidates.map((one) => memberOf(one, name)).filter(Boolean);
          if (soundsSecret(name) || inner.some((one) => isSecret(name, one))) {
            leftOut.push(name);
            return [];
          }
          return [[name, withoutSecrets(value, inner[0] || anything, leftOut)]];
        }),
      };
    case 'array': {
      const items = candidates.find((one) => one.schema.items);
      return {
        kind: 'array',
        items: tree.items.map((item) => withoutSecrets(item, items ? items.follow(items.schema.items) : anything, leftOut)),
      };
    }
    case 'string':
      return {kind: 'string', value: tree.value.replace(jwt, '(token)')};
    default:
      return tree;
  }
}

/** The schema of what has none. */
export const anything = {name: '', schema: {}, follow: (schema) => ({name: '', schema, follow: anything.follow})};

/** A schema, and those of which a value may be. */
function alternatives(schema, depth = 0) {
  const {allOf = [], oneOf = [], anyOf = []} = schema.schema;
  const inner = depth > 4 ? [] : [...allOf, ...oneOf, ...anyOf];
  return [schema, ...inner.flatMap((one) => alternatives(schema.follow(one), depth + 1))];
}

function memberOf({schema, follow}, name) {
  const found = schema.properties?.[name] ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : null);
  return found && follow(found);
}

/** A text without tokens. */
export function withoutTokens(text) {
  return text.replace(jwt, '(token)');
}

/**
 * Writes values as a query: {text, leftOut}; leftOut are the names of secrets, and of files.
 * @param {Object} operation
 * @param {{parameters: [string, string][], query: string, body: string|undefined, type: string, form: [string, string|File][]|undefined, to:
 *   string}} values of its form; parameters by "place name"
 */
export function writeValues(operation, {parameters, query, body, type, form, to}) {
  const leftOut = [];
  const pairs = [];
  for (const {name, place, schema} of operation.parameters) {
    const [, value = ''] = parameters.find(([key]) => key === `${place} ${name}`) || [];
    if (value !== '' && isSecret(name, schema, place)) {
      leftOut.push(name);
    } else if (value !== '') {
      pairs.push([name, value]);
    }
  }
  pairs.push(...formPairs(operation, form, leftOut), ...(form ? [] : bodyPairs(operation, body, type, leftOut)));
  for (const [name, value] of new URLSearchParams(query)) {
    if (soundsSecret(name)) {
      leftOut.push(name);
    } else {
      pairs.push(['~query', String(new URLSearchParams([[name, value]]))]);
    }
  }
  const text = String(new URLSearchParams([...pairs, ...(to ? [['~to', to]] : [])]));
  return text.length > longestText ? {text: '', leftOut: ['all values, which are too long']} : {text, leftOut: [...new Set(leftOut)]};
}

function formPairs({body}, form, leftOut) {
  return (form || []).flatMap(([name, value]) => {
    const schema = memberOf(body.schema, name) || anything;
    if (typeof value !== 'string' || isSecret(name, schema)) {
      leftOut.push(name);
      return [];
    }
    return [[name, value]];
  });
}

function bodyPairs(operation, body, type, leftOut) {
  const tree = body === undefined ? null : parseTree(body);
  const schema = operation.body?.schema || anything;
  if (!tree) {
    if (body) {
      leftOut.push(`the body, which ${whyNoTree(body)}`); // where its secrets are is not known
    }
    return body && !operation.body ? [['~type', type]] : [];
  }
  const safe = withoutSecrets(tree, schema, leftOut);
  const names = new Set(operation.parameters.map(({name}) => name));
  const own = safe.kind === 'object' && operation.body && safe.members.every(([name]) => !names.has(name) && !name.startsWith('~'));
  if (!own) {
    return [['~body', treeText(safe)], ...(operation.body ? [] : [['~type', type]])];
  }
  return safe.members.map(([name, value]) => [name, isText(schema, name) && value.kind === 'string' ? value.value : treeText(value)]);
}

function isText(schema, name) {
  return memberOf(schema, name)?.schema.type === 'string';
}

/**
 * Reads what writeValues has written: {parameters, query, body, type, pairs, to}. body is JSON, or undefined if the text
 * has none; pairs are all, for a form of HTML.
 */
export function readValues(operation, text) {
  const all = [...new URLSearchParams(text)];
  const special = (name) => all.filter(([one]) => one === `~${name}`).map(([, value]) => value);
  const named = all.filter(([name]) => !name.startsWith('~'));
  const parameters = [];
  const members = [];
  for (const [name, value] of named) {
    const parameter = operation.parameters.find((one) => one.name === name);
    if (parameter) {
      parameters.push([`${parameter.place} ${name}`, value]);
    } else if (operation.body) {
      members.push([name, isText(operation.body.schema, name) ? {kind: 'string', value} : (parseTree(value) ?? {kind: 'string', value})]);
    }
  }
  const [whole] = special('body');
  const body = whole ?? (members.length > 0 ? treeText({kind: 'object', members}) : undefined);
  const [type = ''] = special('type');
  const [to = ''] = special('to');
  return {parameters, query: special('query').join('&'), body, type, pairs: named, to};
}
