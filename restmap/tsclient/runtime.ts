// ---- The part that all clients share: requests, streams, events, errors, and integers of 64 bits.

/** What [connect] needs to know. */
export interface Options {
  /** The address of the ingress, 'https://api.example.com'. Default: that in the services' documents. */
  baseUrl?: string | undefined;
  /**
   * The bearer token, or a function that returns it. The function is called for each request; after an answer 401 it is
   * called once more, with expired: true.
   */
  token?: string | ((request: {expired: boolean}) => string | undefined | Promise<string | undefined>) | undefined;
  /** Header fields of all requests. */
  headers?: Record<string, string> | undefined;
  /** Milliseconds that a call may take with all its repetitions; of a stream, until it begins. Default: no limit. */
  timeout?: number | undefined;
  /** How often a call is repeated of which nothing has run; after a network failure a GET, or what has a key. Default: 2. */
  retries?: number | undefined;
  /** Makes the requests. Default: the global fetch. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

/** What one call may have of its own. */
export interface CallOptions {
  /** Ends the call; it fails with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Replaces that of [Options]. */
  timeout?: number | undefined;
  /** Replaces that of [Options]. */
  retries?: number | undefined;
  /** Header fields beside those of [Options]. */
  headers?: Record<string, string> | undefined;
  /** Is called with the successful response before its body is read: its status and header. */
  onResponse?: ((response: Response) => void) | undefined;
}

/** How to listen to events. */
export interface EventOptions {
  /** Continues behind the event with this id. Default: only what is published from now on. */
  lastEventId?: string | undefined;
  /** Ends the iteration; it fails with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Is called when events may be missing, with the reason. */
  onGap?: ((detail: string) => void) | undefined;
}

/** The arguments of a function that has none. */
export type NoArguments = {readonly [name: string]: never};

/** An event of a publisher. */
export interface EventOf<Payload> {
  /** For lastEventId; '' if the publisher gives none. */
  readonly id: string;
  readonly payload: Payload;
}

/** A failed call, as the service or the ingress describes it (RFC 9457). */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status!: number;
  /** A URI of the kind of problem; 'about:blank' if the status says it all. */
  readonly type!: string;
  readonly title!: string;
  readonly detail!: string;
  /** The path of the request. */
  readonly instance?: string;
  /** The host that failed, and its instance. */
  readonly host?: string;
  readonly id?: string;
  /** What the logs have of the call. */
  readonly msgId?: string;
  readonly traceId?: string;
  /** 'no': no handler ran; 'unknown': one may have run, or this is its answer. */
  readonly executed!: 'no' | 'unknown';
  /** The arguments that are not valid. */
  readonly errors!: readonly {readonly name: string; readonly in: string; readonly detail: string}[];
  /** All other members. */
  readonly details: {readonly [name: string]: unknown};
  /** Seconds after which to try again, if the answer says so. */
  readonly retryAfter: number | undefined;

  constructor(members: {readonly [name: string]: unknown}, retryAfter?: number) {
    const {
      type = 'about:blank',
      title = '',
      status,
      detail = '',
      instance,
      host,
      id,
      msgId,
      traceId,
      executed,
      errors = [],
      ...details
    } = members;
    super(`${status} ${detail || title || type}`);
    Object.assign(this, {type, title, status, detail, instance, host, id, msgId, traceId, errors});
    this.executed = executed === 'no' ? 'no' : 'unknown';
    this.details = details;
    this.retryAfter = retryAfter;
  }
}

/** There was no answer, or not the whole of it: the network failed. The call may have been executed. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError';
}

/** An operation of a service, as the functions below describe it. */
interface Operation {
  readonly method: string;
  /** With the arguments in it: '/files.example:443/files/{folder}/{path+}', the last for several segments. */
  readonly path: string;
  /** Arguments in the query, 'limit', and members of arguments, 'filter.text'. */
  readonly query?: readonly string[];
  /** Arguments in the query that are JSON. */
  readonly json?: readonly string[];
  readonly header?: readonly string[];
  /** The argument that is the whole body; '' if it has all arguments that are nowhere else as its members. */
  readonly body?: string;
  /** Each call carries a key, so that it may be repeated although it may have run. */
  readonly idempotent?: true;
  /** It is a web endpoint: its body is sent as it is. */
  readonly web?: true;
  readonly args?: Shape;
  readonly result?: Shape;
  /** The details of problems, by type. */
  readonly problems?: {readonly [type: string]: Shape};
}

type Arguments = {readonly [name: string]: unknown};

/** A request; duplex is that of a body that is a stream. */
type Request = {path: string; headers: Record<string, string>; body?: NonNullable<RequestInit['body']>; duplex?: 'half'};

/** Returns a request without what is the same for all. */
function encodeRequest(operation: Operation, args: Arguments): Request {
  const {query = [], json = [], header = [], body} = operation;
  const elsewhere = new Set([...query, ...json, ...header].map((name) => name.split('.')[0]));
  const shapeOf = (name: string, value: unknown) => partOf(expand(operation.args, args), value, name);
  const asText = (value: unknown, shape: Shape[], name: string) => (typeof value === 'string' ? value : (encode(value, shape, name) ?? ''));
  const path = operation.path.replace(/\{(.*?)(\+?)\}/g, (_, name: string, rest: string) => {
    elsewhere.add(name);
    const value = asText(args[name], shapeOf(name, args[name]), name);
    const segments = rest ? value.split('/') : [value];
    if (value === '' || segments.some((segment) => segment === '.' || segment === '..')) {
      throw new RangeError(`${name}: ${JSON.stringify(value)} cannot be in a path`); // it would lead elsewhere
    }
    return segments.map(encodeURIComponent).join('/');
  });
  const search = new URLSearchParams();
  for (const name of query) {
    let [value, shape]: [unknown, Shape[]] = [args, expand(operation.args, args)];
    for (const part of name.split('.')) {
      value = (value as Arguments | null | undefined)?.[part];
      shape = partOf(shape, value, part);
    }
    for (const each of Array.isArray(value) ? value : [value]) {
      const itemShape = Array.isArray(value) ? partOf(shape, each) : shape;
      if (each !== undefined && each !== null) search.append(name, asText(each, itemShape, name));
    }
  }
  for (const name of json) {
    const value = encode(args[name], shapeOf(name, args[name]), name);
    if (value !== undefined) search.append(name, value);
  }
  const headers: Record<string, string> = {};
  for (const name of header) {
    if (args[name] !== undefined && args[name] !== null) headers[name] = asText(args[name], shapeOf(name, args[name]), name);
  }
  const request = {path: String(search) === '' ? path : `${path}?${search}`, headers};
  if (body === undefined) return request;
  if (operation.web) {
    const raw = args[body] as RequestInit['body'];
    return raw == null ? request : {...request, body: raw, ...(raw instanceof ReadableStream ? {duplex: 'half'} : {})};
  }
  headers['Content-Type'] = 'application/json';
  if (body !== '') return {...request, body: encode(args[body], shapeOf(body, args[body]), body) ?? 'null'};
  const members = Object.entries(args).flatMap(([name, value]) => {
    const member = elsewhere.has(name) ? undefined : encode(value, shapeOf(name, value), name);
    return member === undefined ? [] : [`${JSON.stringify(name)}:${member}`];
  });
  return {...request, body: `{${members}}`};
}

/** Times in milliseconds. The ingress sends something every 15 s. */
const [firstWait, firstReconnect, longestReconnect, longestSilence] = [100, 1_000, 30_000, 45_000];

function varied(milliseconds: number): number {
  return milliseconds * (0.5 + Math.random() / 2);
}

/** Returns a signal that follows another one, and what ends it: a time, until stop is called, and abort. */
function newLimit(outer?: AbortSignal, timeout?: number) {
  const controller = new AbortController();
  const late = () => controller.abort(new DOMException(`no answer within ${timeout} ms`, 'TimeoutError'));
  const timer = timeout === undefined ? undefined : setTimeout(late, Math.min(timeout, 2 ** 31 - 1));
  return {
    signal: outer ? AbortSignal.any([outer, controller.signal]) : controller.signal,
    deadline: Date.now() + (timeout ?? Infinity),
    stop: () => clearTimeout(timer),
    abort: (reason?: unknown) => controller.abort(reason),
  };
}
type Limit = ReturnType<typeof newLimit>;

/** Waits for the network: it fails with the reason of the signal, or with a [NetworkError]. */
async function received<T>(waited: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await waited;
  } catch (cause) {
    signal.throwIfAborted();
    throw new NetworkError(`the network failed: ${cause instanceof Error ? cause.message : cause}`, {cause});
  }
}

async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, signal?.aborted ? 0 : milliseconds);
    const stop = () => {
      clearTimeout(timer);
      resolve();
    };
    signal?.addEventListener('abort', stop, {once: true});
  });
  signal?.throwIfAborted();
}

/** Calls services. Everything that [connect] returns goes through it. */
class Client {
  readonly #options: Options & {baseUrl: string};

  constructor(options: Options & {baseUrl: string}) {
    this.#options = {...options, baseUrl: options.baseUrl.replace(/\/+$/, '')};
  }

  #limit(options: CallOptions): Limit {
    return newLimit(options.signal, options.timeout ?? this.#options.timeout);
  }

  /** Calls a function, and returns its result. */
  async call<T>(operation: Operation, args: object = {}, options: CallOptions = {}): Promise<T> {
    const timeout = options.timeout ?? this.#options.timeout;
    const headers: Record<string, string> = {Accept: 'application/json'};
    if (timeout !== undefined) headers['Request-Timeout'] = String(Math.max(1, Math.ceil(timeout / 1000)));
    const limit = this.#limit(options);
    const read = async (response: Response) => {
      const json = await received(response.text(), limit.signal);
      return (json === '' ? undefined : decode(json, operation.result, 'result')) as T;
    };
    return await this.#send(operation, args, options, headers, limit, read).finally(limit.stop);
  }

  /** Calls a function that returns nothing. */
  async run(operation: Operation, args?: object, options?: CallOptions): Promise<void> {
    await this.call(operation, args, options);
  }

  /** Calls a web endpoint, and returns its response, whose status may be any: only a problem is an error. */
  async fetch(operation: Operation, args: object = {}, options: CallOptions = {}): Promise<Response> {
    const limit = this.#limit(options);
    return await this.#send(operation, args, options, {}, limit, async (response) => response).finally(limit.stop);
  }

  /** Calls a function that streams. Leaving the loop ends the call. */
  async *stream<T>(operation: Operation, args: object = {}, options: CallOptions = {}): AsyncGenerator<T, void, undefined> {
    const limit = this.#limit(options);
    try {
      const headers = {Accept: 'text/event-stream'};
      const response = await this.#send(operation, args, options, headers, limit, async (begun) => begun).finally(limit.stop);
      for await (const {type, data = ''} of serverSentEvents(response, limit)) {
        if (type === 'end') return;
        if (type === 'problem') throw problemOf(data, operation);
        if (data !== '') yield decode(data, operation.result, 'element') as T;
      }
      throw new NetworkError('the stream broke off before its end');
    } finally {
      limit.abort();
    }
  }

  /** Listens to events. A connection that is lost is opened again, behind the last event that came. */
  async *events<T>(path: string, payload: Shape | undefined, options: EventOptions = {}): AsyncGenerator<EventOf<T>, void, undefined> {
    let id = options.lastEventId ?? '';
    let wait = firstReconnect;
    for (let opened = false; ; ) {
      const limit = newLimit(options.signal);
      try {
        const headers: Record<string, string> = {Accept: 'text/event-stream', ...(id && {'Last-Event-ID': id})};
        const response = await this.#send({method: 'GET', path}, {}, {}, headers, limit, async (begun) => begun);
        opened = true;
        for await (const event of serverSentEvents(response, limit, longestSilence)) {
          id = event.id ?? id;
          if (event.type === 'gap') options.onGap?.(String(JSON.parse(event.data ?? '{}').detail));
          if (event.type !== 'message' || !event.data) continue;
          wait = firstReconnect;
          yield {id, payload: decode(event.data, payload, 'event') as T};
        }
      } catch (err) {
        const passes = err instanceof NetworkError || (err instanceof Problem && [408, 429, 502, 503, 504].includes(err.status));
        if (!opened || !passes) throw err;
        if (err instanceof Problem) wait = Math.max(wait, (err.retryAfter ?? 0) * 1000);
      } finally {
        limit.abort();
      }
      await pause(varied(wait), options.signal);
      wait = Math.min(2 * wait, longestReconnect);
    }
  }

  /** Sends a request, again where that is safe, and reads the successful response. */
  async #send<T>(
    operation: Operation,
    args: object,
    options: CallOptions,
    accept: Record<string, string>,
    limit: Limit,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const request = encodeRequest(operation, args as Arguments);
    const key = operation.idempotent && {'Idempotency-Key': newKey()};
    const sent = {...request, headers: merged(accept, key, request.headers, this.#options.headers, options.headers)};
    const retries = request.duplex ? 0 : (options.retries ?? this.#options.retries ?? 2);
    let expired = false;
    for (let attempt = 0; ; attempt++) {
      try {
        const response = await this.#request(operation, sent, limit.signal, expired);
        options.onResponse?.(response);
        return await read(response);
      } catch (err) {
        limit.signal.throwIfAborted();
        const isProblem = err instanceof Problem;
        if (isProblem && err.status === 401 && typeof this.#options.token === 'function' && !expired && !request.duplex) {
          expired = true;
          attempt--;
          continue;
        }
        const nothingRan = isProblem && err.status === 503 && err.executed === 'no';
        const mayRepeat = operation.method === 'GET' || operation.idempotent;
        const isUnknown = err instanceof NetworkError || (isProblem && operation.idempotent && [502, 503, 504].includes(err.status));
        const wait = isProblem && err.retryAfter !== undefined ? err.retryAfter * 1000 : varied(firstWait * 2 ** attempt);
        if (attempt >= retries || !(nothingRan || (mayRepeat && isUnknown)) || Date.now() + wait >= limit.deadline) throw err;
        await pause(wait, limit.signal);
      }
    }
  }

  /** Sends a request once, and returns the successful response. */
  async #request(operation: Operation, request: Request, signal: AbortSignal, expired: boolean): Promise<Response> {
    const {token, baseUrl, fetch: send = fetch} = this.#options;
    const bearer = typeof token === 'function' ? await token({expired}) : token;
    const headers = bearer ? merged({Authorization: `Bearer ${bearer}`}, request.headers) : request.headers;
    const {path, ...init} = request;
    const response = await received(send(baseUrl + path, {...init, method: operation.method, headers, signal}), signal);
    const isProblem = response.headers.get('Content-Type')?.startsWith('application/problem+json') ?? false;
    if (response.ok || (operation.web && !isProblem)) return response;
    const body = await received(response.text(), signal);
    const said = response.headers.get('Retry-After');
    const after = said === null ? undefined : Math.max(0, Number(said) || (Date.parse(said) - Date.now()) / 1000 || 0);
    if (isProblem) throw problemOf(body, operation, after);
    throw new Problem({status: response.status, title: response.statusText, detail: body.slice(0, 500)}, after);
  }
}

/** Returns all header fields. Of those whose names differ only in case the last one counts; a blank key counts as none. */
function merged(...all: (Record<string, string> | undefined)[]): Record<string, string> {
  const headers = new Map<string, [name: string, value: string]>();
  for (const [name, value] of all.flatMap((each) => Object.entries(each ?? {}))) {
    const same = name.toLowerCase();
    if (same !== 'idempotency-key' || String(value).trim() !== '') headers.set(same, [name, value]);
  }
  return Object.fromEntries(headers.values());
}

/** A key of 128 random bits. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function problemOf(json: string, operation: Operation, retryAfter?: number): Problem {
  const {type} = JSON.parse(json);
  const {problems = {}} = operation;
  const shape = Object.hasOwn(problems, type) ? problems[type] : ANY;
  // the problem is worth more than an error about a detail: a number that would be rounded is its digits
  return new Problem(decode(json, shape, 'problem', (_, value) => String(value)) as {[name: string]: unknown}, retryAfter);
}

interface SentEvent {
  type: string;
  data?: string;
  id?: string;
}

/** Reads server-sent events (https://html.spec.whatwg.org/#event-stream-interpretation), and those that only set the id. */
async function* serverSentEvents(response: Response, limit: Limit, silence?: number): AsyncGenerator<SentEvent> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let rest = '';
  let event: SentEvent = {type: 'message'};
  while (reader) {
    const lost = () => limit.abort(new NetworkError('the connection is silent'));
    const timer = silence === undefined ? undefined : setTimeout(lost, silence);
    const {done, value} = await received(reader.read(), limit.signal).finally(() => clearTimeout(timer));
    if (done) return; // an event that is cut off is none
    const lines = (rest + decoder.decode(value, {stream: true})).split(/\r\n|\n|\r(?!$)/); // a CR at the end may be half of a line end
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [field, content = ''] = line.split(/: ?(.*)/s, 2);
      if (line === '') {
        if (event.data !== undefined || event.id !== undefined) yield event;
        event = {type: 'message'};
      } else if (field === 'data') event.data = event.data === undefined ? content : `${event.data}\n${content}`;
      else if (field === 'event') event.type = content;
      else if (field === 'id') event.id = content;
    }
  }
}
