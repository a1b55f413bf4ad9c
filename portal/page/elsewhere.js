import {compact, parseTree, treeText} from './json.js';
import {addressOf, allInstances, anyInstance} from './request.js';
import {shellQuote} from './shell.js';

// A call in the command line of Busline, in TypeScript and in Python.

/** The line that makes the call with the command busline. */
export function buslineSnippet(operation, request, {plane, secured}) {
  const {method, body, form, to} = request;
  const words = ['busline', 'call'];
  if (!(method === 'POST' && (body !== undefined || form))) {
    words.push('-X', method);
  }
  if (plane !== 'bus') {
    words.push('--plane', shellQuote(plane));
  }
  if (to !== anyInstance) {
    words.push(...(to === allInstances ? ['--all'] : ['--instance', shellQuote(to)]));
  }
  words.push(...Object.entries(request.headers).flatMap(([name, value]) => ['-H', shellQuote(`${name}: ${value}`)]));
  const raw = body !== undefined && (!operation.body || parseTree(body) === null);
  if (raw && request.type !== 'application/json') {
    words.push('-H', shellQuote(`Content-Type: ${request.type}`));
  }
  const port = operation.port === '443' ? '' : `:${operation.port}`;
  words.push(shellWord(`${operation.host}${port}${request.path}`));
  words.push(...[...new URLSearchParams(request.query)].map(([name, value]) => shellWord(pairText(name, value))));
  words.push(
    ...(form || []).map(([name, value]) => shellWord(typeof value === 'string' ? pairText(name, value) : `${name}=@${value.name}`)),
  );
  const call = [...(secured ? ['BUS_TOKEN="$TOKEN"'] : []), ...words].join(' ');
  if (body === undefined) {
    return call;
  }
  return /^\s*[{[]/.test(body) ? `${call} ${shellQuote(compact(body))}` : `printf %s ${shellQuote(body)} | ${call} -`;
}

/** An argument; an @ would have a file read. */
function pairText(name, value) {
  return `${name}=${value.startsWith('@') ? '@' : ''}${value}`;
}

/** A word of a shell, quoted if it has to be. */
function shellWord(text) {
  return /^[\w./:=,-]+$/.test(text) ? text : shellQuote(text);
}

/** The call with the client that the portal makes for TypeScript. */
export function typescriptSnippet(operation, request, {secured, services}) {
  const {body, form} = request;
  const tree = body === undefined ? null : parseTree(body);
  const whole = operation.web || operation.signature.includes('httpRequestBody') || (tree && tree.kind !== 'object');
  const named = operation.parameters
    .map(({name, place, schema}) => [name, request.values?.[`${place} ${name}`], schema.schema])
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value, {type}]) => [
      name,
      type === 'string' ? JSON.stringify(value) : literal(parseTree(value) ?? {kind: 'string', value}),
    ]);
  const members = form ? formMembers(form) : bodyMembers(body, tree, whole);
  const all = [...named, ...members].map(([name, value]) => `${memberName(name)}: ${value}`);
  const args = all.length > 0 ? `{${all.join(', ')}}` : '';
  const token = secured ? ', token' : '';
  const call = `bus.${serviceName(operation, services)}.${functionName(operation)}(${args})`;
  return [
    "import {connect} from './bus.js';",
    '',
    `const bus = connect({baseUrl: ${JSON.stringify(addressOf(operation, {target: ''}))}${token}});`,
    operation.streams ? `for await (const element of ${call}) {\n  console.log(element);\n}` : `console.log(await ${call});`,
  ].join('\n');
}

function bodyMembers(body, tree, whole) {
  if (body === undefined) {
    return [];
  }
  if (whole || !tree) {
    return [['body', tree ? literal(tree) : JSON.stringify(body)]];
  }
  return tree.members.map(([name, value]) => [name, literal(value)]);
}

function formMembers(form) {
  const names = [...new Set(form.map(([name]) => name))];
  return names.map((name) => {
    const values = form
      .filter(([one]) => one === name)
      .map(([, value]) => (typeof value === 'string' ? JSON.stringify(value) : `new Blob([/* ${value.name.replaceAll('*/', '')} */])`));
    return [name, values.length > 1 ? `[${values.join(', ')}]` : values[0]];
  });
}

/** JSON as TypeScript; an integer that JavaScript rounds is one of the client for bigint. */
function literal(tree) {
  switch (tree.kind) {
    case 'object':
      return `{${tree.members.map(([name, value]) => `${memberName(name)}: ${literal(value)}`).join(', ')}}`;
    case 'array':
      return `[${tree.items.map(literal).join(', ')}]`;
    default: {
      const text = treeText(tree);
      return tree.kind === 'word' && /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text)) ? `${text}n` : text;
    }
  }
}

function memberName(name) {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) && name !== '__proto__' ? name : JSON.stringify(name);
}

/** The name of a service in the client: the first of its host that no other one has. */
function serviceName({host, port}, services) {
  const nameOf = (one, length) => lowerCamel(one.host.split('.').slice(0, length).join('-')) + (one.port === '443' ? '' : one.port);
  const others = services.filter((one) => one.host !== host || one.port !== port);
  const labels = host.split('.').length;
  for (let length = 1; length < labels; length++) {
    const name = nameOf({host, port}, length);
    if (!others.some((one) => nameOf(one, length) === name)) {
      return name;
    }
  }
  return nameOf({host, port}, labels);
}

function functionName({name, method, path}) {
  return lowerCamel(name || `${method} ${path.replace(/^\//, '')}`);
}

function lowerCamel(name) {
  const [first = '_', ...others] = name.match(/[\p{L}\p{N}]+/gu) || [];
  const [head] = first.match(/^(\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}+(?!\p{Ll})|\p{Lu}?[^\p{Lu}]*)/u);
  const joined = head.toLowerCase() + first.slice(head.length) + others.map((word) => word[0].toUpperCase() + word.slice(1)).join('');
  return /^\d/.test(joined) ? `_${joined}` : joined;
}

/** The call with the standard library of Python; "" for a form with files, which that does not write. */
export function pythonSnippet(operation, request, {secured}) {
  if (request.form) {
    return '';
  }
  const {method, body} = request;
  const headers = [...Object.entries(request.headers), ...(body === undefined ? [] : [['Content-Type', request.type]])].map(
    ([name, value]) => `${quote(name)}: ${quote(value)}`,
  );
  if (secured) {
    headers.push('"Authorization": "Bearer " + os.environ["TOKEN"]');
  }
  return [
    ...(secured ? ['import os'] : []),
    'import urllib.error',
    'import urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${quote(addressOf(operation, request))},`,
    `    method=${quote(method)},`,
    ...(headers.length > 0 ? [`    headers={${headers.join(', ')}},`] : []),
    ...(body === undefined ? [] : [`    data=${quote(compact(body))}.encode(),`]),
    ')',
    'try:',
    '    response = urllib.request.urlopen(request)',
    'except urllib.error.HTTPError as error:',
    '    response = error',
    'print(response.status, response.read().decode())',
  ].join('\n');
}

/** Python accepts the escapes of JSON; unpaired surrogates are replaced. */
function quote(text) {
  return JSON.stringify(text.toWellFormed?.() ?? text);
}
