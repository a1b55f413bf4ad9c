// ---- JSON without rounding: where integers of 64 bits are is known from the documents.

/** Where a value has integers of 64 bits: it is one, it is anything, it is like a component, or by its parts. */
type Shape = typeof INT64 | typeof ANY | string | readonly [Shape] | ObjectShape;
interface ObjectShape {
  readonly members?: {readonly [name: string]: Shape};
  readonly others?: Shape;
  /** All of these. */
  readonly all?: readonly Shape[];
  /** The member that says which of several shapes it is. */
  readonly by?: string;
  readonly of?: {readonly [value: string]: Shape};
}
const INT64 = 1 as const; // as a member that is called constructor would widen it
const ANY = 2 as const;

/** Returns what a shape says of a value: no components, combinations and choices. */
function expand(shape: Shape | undefined, value: unknown): Shape[] {
  if (typeof shape === 'string') return expand(shapes[shape], value);
  if (shape === undefined || typeof shape === 'number' || !('all' in shape || 'by' in shape)) return shape === undefined ? [] : [shape];
  const {all = [], by, of} = shape;
  const kind = by === undefined ? undefined : String((value as {[name: string]: unknown} | null)?.[by]);
  const chosen = kind !== undefined && of && Object.hasOwn(of, kind) ? of[kind] : undefined;
  return [...all, chosen].flatMap((each) => expand(each, value));
}

/** Returns the shape of an element of a list, or of a member. */
function partOf(expanded: readonly Shape[], value: unknown, name?: string): Shape[] {
  return expanded.flatMap((shape) => {
    if (shape === ANY) return [ANY];
    if (Array.isArray(shape)) return name === undefined ? expand(shape[0], value) : [];
    if (typeof shape !== 'object' || name === undefined) return [];
    const {members = {}, others} = shape as ObjectShape;
    return expand(Object.hasOwn(members, name) ? members[name] : others, value);
  });
}

function tooLarge(at: string, value: unknown): RangeError {
  return new RangeError(`${at}: ${value} is beyond 2^53 - 1, and a number would round it: generate the client with int64 bigint or string`);
}

/** Returns what stands for an integer that is too large for a number. */
type TooLarge = (at: string, value: number | bigint) => unknown;

const refuse: TooLarge = (at, value) => {
  throw tooLarge(at, value);
};

/** Reads JSON without rounding. at names the value in errors. */
function decode(json: string, shape: Shape | undefined, at: string, large: TooLarge = refuse): unknown {
  const value: unknown = JSON.parse(json);
  if (!/\d{16}/.test(json)) {
    return int64 === 'number' ? value : convert(value, expand(shape, value), at, large);
  }
  const exact = parseExact(json);
  return convert(exact, expand(shape, exact), at, large);
}

/** Parses valid JSON; integers of 16 digits and more become bigints. */
function parseExact(json: string): unknown {
  const tokens = json.matchAll(/[{}[\]]|"(?:[^"\\]|\\.)*"|[^\s{}[\],:"]+/g);
  const next = () => tokens.next().value?.[0] ?? '';
  const value = (token: string): unknown => {
    if (token === '[') {
      const list: unknown[] = [];
      for (let item = next(); item !== ']'; item = next()) list.push(value(item));
      return list;
    }
    if (token === '{') {
      const members: [string, unknown][] = [];
      for (let name = next(); name !== '}'; name = next()) members.push([JSON.parse(name), value(next())]);
      return Object.fromEntries(members);
    }
    return /^-?\d{16,}$/.test(token) ? BigInt(token) : JSON.parse(token);
  };
  return value(next());
}

/** Gives integers of 64 bits their type. */
function convert(value: unknown, shape: readonly Shape[], at: string, large: TooLarge): unknown {
  if (typeof value === 'number' || typeof value === 'bigint') return convertNumber(value, shape, at, large);
  if (Array.isArray(value)) return value.map((item, i) => convert(item, partOf(shape, item), `${at}[${i}]`, large));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, convert(member, partOf(shape, member, name), `${at}.${name}`, large)]),
  );
}

function convertNumber(value: number | bigint, shape: readonly Shape[], at: string, large: TooLarge): unknown {
  const isInteger = typeof value === 'bigint' || Number.isInteger(value);
  const isSafe = Number.isSafeInteger(Number(value));
  if (!isInteger || !(shape.includes(INT64) || (shape.includes(ANY) && typeof value === 'bigint' && !isSafe))) return Number(value);
  if (int64 === 'bigint') return BigInt(value);
  if (int64 === 'string') return String(BigInt(value));
  return isSafe ? Number(value) : large(at, value);
}

/** Writes JSON, bigints as numbers; undefined for what JSON does not have. */
function encode(value: unknown, shape: readonly Shape[], at: string): string | undefined {
  switch (typeof value) {
    case 'bigint':
      return String(value);
    case 'number':
      if (!Number.isFinite(value)) throw new RangeError(`${at}: ${value} is not a number that JSON has`);
      if (shape.includes(INT64) && Number.isInteger(value) && !Number.isSafeInteger(value)) throw tooLarge(at, value);
      return String(value);
    case 'string':
      if (int64 !== 'string' || !shape.includes(INT64)) return JSON.stringify(value);
      if (/^-?\d+$/.test(value)) return String(BigInt(value));
      if (shape.length > 1) return JSON.stringify(value);
      throw new RangeError(`${at}: ${JSON.stringify(value)} is not an integer`);
    case 'object':
      if (value === null) return 'null';
      if ('toJSON' in value && typeof value.toJSON === 'function') return encode(value.toJSON(), shape, at);
      if (Array.isArray(value)) return `[${value.map((item, i) => encode(item, partOf(shape, item), `${at}[${i}]`) ?? 'null')}]`;
      return `{${Object.entries(value).flatMap(([name, member]) => {
        const json = encode(member, partOf(shape, member, name), `${at}.${name}`);
        return json === undefined ? [] : [`${JSON.stringify(name)}:${json}`];
      })}}`;
    case 'boolean':
      return String(value);
    default:
      return undefined;
  }
}
