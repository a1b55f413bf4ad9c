import {parseTree, treeText} from './json.js';
import {allInstances} from './request.js';
import {fields} from './schema.js';

/** The call in Go: by the function's name if it has one, otherwise as an HTTP request over the bus. */
export function goSnippet(operation, request, secured) {
  const body = request.body === undefined ? null : parseTree(request.body);
  const headed = Object.keys(request.headers).length > 0; // which only a request can have
  const byName = !operation.web && !headed && request.to !== allInstances && (request.body === undefined || body);
  const call = byName ? byArguments(operation, request, body) : byRequest(request);
  const who = secured ? ['ctx = bus.WithActor(ctx, token)'] : [];
  return ['conn, err := bus.Connect(ctx, "caller.example")', failure, ...who, ...call].join('\n');
}

const failure = 'if err != nil {\n\treturn err\n}';

function byArguments(operation, request, body) {
  const port = operation.port === '443' ? '' : `:${operation.port}`;
  const method = request.method === 'POST' ? '' : `${request.method} `;
  const address = `${method}https://${request.host}${port}${operation.path}`;
  const pairs = argumentsOf(operation, request, body).map(([name, value]) => `${quote(name)}: ${value}`);
  const args = pairs.length > 0 ? `bus.Args{${pairs.join(', ')}}` : 'nil';
  const result = resultType(operation);
  return [...(result ? [`var result ${result}`] : []), `err = conn.Call(ctx, ${quote(address)}, ${args}, ${result ? '&result' : 'nil'})`];
}

/** The arguments by name, as Go: those of path and query, and of the body, which may be a single argument. */
function argumentsOf(operation, request, body) {
  const named = operation.parameters
    .map(({name, place, schema}) => [name, request.values?.[`${place} ${name}`], schema])
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value, {schema}]) => [
      name,
      literal(schema.type === 'string' ? {kind: 'string', value} : (parseTree(value) ?? {kind: 'string', value})),
    ]);
  if (!body) {
    return named;
  }
  if (operation.signature.includes('httpRequestBody')) {
    return [...named, ['httpRequestBody', literal(body)]];
  }
  const members = body.kind === 'object' ? body.members : [];
  return [...named, ...members.map(([name, value]) => [name, literal(value)])];
}

function literal(tree) {
  switch (tree.kind) {
    case 'object':
      return `map[string]any{${tree.members.map(([name, value]) => `${quote(name)}: ${literal(value)}`).join(', ')}}`;
    case 'array':
      return `[]any{${tree.items.map(literal).join(', ')}}`;
    case 'string':
      return quote(tree.value);
    default:
      return wordLiteral(treeText(tree));
  }
}

/** A number that does not fit an int64 keeps its digits. */
function wordLiteral(text) {
  const large = /^-?\d{19,}$/.test(text);
  return text === 'null' ? 'nil' : large ? `json.Number(${quote(text)})` : text;
}

/** Go accepts the escapes of JSON; unpaired surrogates are replaced. */
function quote(text) {
  return JSON.stringify(text.toWellFormed?.() ?? text);
}

function resultType(operation) {
  const success = operation.responses.find(({status}) => status.startsWith('2'));
  const schema = success?.contents[0]?.schema;
  if (!schema) {
    return '';
  }
  const members = schema.schema.type === 'array' ? [] : fields(schema, operation.signature);
  if (members.length === 0 && schema.schema.type === 'object') {
    return '';
  }
  if (members.length === 0 || operation.signature.includes('httpResponseBody')) {
    return goType(schema);
  }
  return `struct{ ${members.map(({name, schema: member}) => `${fieldName(name)} ${goType(member)}`).join('; ')} }`;
}

/** Conn.Call matches field names in any case. */
function fieldName(name) {
  const cleaned = name.replace(/[^\p{L}\p{N}_]/gu, '_');
  return /^\p{Ll}/u.test(cleaned) ? cleaned[0].toUpperCase() + cleaned.slice(1) : `X${cleaned}`.replace(/^X(?=\p{Lu})/u, '');
}

/** A type in Go; what is an array of itself ends in any. */
function goType({name, schema, follow}, within = []) {
  if (name && within.includes(name)) {
    return 'any';
  }
  switch (schema.type) {
    case 'integer':
      return ['int32', 'uint64'].includes(schema.format) ? schema.format : 'int64';
    case 'number':
      return 'float64';
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'array':
      return `[]${goType(follow(schema.items), [...within, name])}`;
    case 'object':
      return 'map[string]any';
    default:
      return 'any';
  }
}

function byRequest(request) {
  const port = request.port === '443' ? '' : `:${request.port}`;
  const address = quote(`https://${request.host}${port}${request.path}${request.query}`);
  const body = request.form ? '&body' : request.body === undefined ? 'http.NoBody' : `strings.NewReader(${quote(request.body)})`;
  const lines = [
    ...(request.form ? formLines(request.form) : []),
    `request, err := http.NewRequestWithContext(ctx, ${quote(request.method)}, ${address}, ${body})`,
    failure,
  ];
  const type = request.body === undefined ? [] : [['Content-Type', request.type]];
  if (request.form) {
    lines.push('request.Header.Set("Content-Type", form.FormDataContentType())');
  }
  lines.push(
    ...[...Object.entries(request.headers), ...type].map(([name, value]) => `request.Header.Set(${quote(name)}, ${quote(value)})`),
  );
  if (request.to === allInstances) {
    return [
      ...lines,
      'for response, err := range conn.Multicast(request) {',
      '\tif err != nil {',
      '\t\treturn err',
      '\t}',
      '\tfmt.Println(response.Header.Get("Bus-From-Id"), response.Status)',
      '}',
    ];
  }
  return [...lines, 'response, err := conn.Do(request)'];
}

/** Writes a form with files to a buffer. */
function formLines(entries) {
  return [
    'var body bytes.Buffer',
    'form := multipart.NewWriter(&body)',
    ...entries.flatMap(([name, value]) => {
      if (typeof value === 'string') {
        return [`if err := form.WriteField(${quote(name)}, ${quote(value)}); err != nil {`, '\treturn err', '}'];
      }
      const head = [
        ['"Content-Disposition"', `multipart.FileContentDisposition(${quote(name)}, ${quote(value.name)})`],
        ['"Content-Type"', quote(value.type || 'application/octet-stream')],
      ].map(([key, text]) => `${key}: {${text}}`);
      return [
        `if content, err := os.ReadFile(${quote(value.name)}); err != nil {`,
        '\treturn err',
        `} else if part, err := form.CreatePart(textproto.MIMEHeader{${head.join(', ')}}); err != nil {`,
        '\treturn err',
        '} else if _, err := part.Write(content); err != nil {',
        '\treturn err',
        '}',
      ];
    }),
    'if err := form.Close(); err != nil {',
    '\treturn err',
    '}',
  ];
}
