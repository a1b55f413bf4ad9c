package main

// fakeServer answers requests for fake.json from a list, and notes what was asked for and what the page made of it, in
// window.told.
const fakeServer = `import("./source.js").then(async ({Source}) => {
	const real = fetch;
	const answers = [
		[200, {ETag: '"1"'}, '{"a": {"deep": 1, "list": [1, {"x": 2}], "gone": 1}, "b": {"big": 9007199254740993}, "c": 3}'],
		[304, {}, null],
		[200, {ETag: '"2"'}, '{"b": {"big": 9007199254740993}, "a": {"list": [1, {"x": 2}], "deep": 9007199254740995, "__proto__": {"x": 1}}}'],
		[200, {ETag: '"3"'}, '{"b": {"big": 9007199254740993}, "a": {"list": [1, {"x": 2}], "deep": 9007199254740995, "__proto__": {"x": 2}}}'],
		[200, {}, '{"whole": true}'],
		[200, {}, '{"whole": true}'], // has no tags
		[401, {}, '{"detail": "no"}'],
		[200, {ETag: '"4"'}, '{"whole": true}'],
		[200, {ETag: '"5"'}, '{"broken'],
		[200, {ETag: '"5"'}, '{"whole": 2}'],
	];
	const asked = [];
	window.fetch = (address, options) => {
		if (address !== "fake.json") {
			return real(address, options);
		}
		const {"If-None-Match": base, Authorization: whose} = options.headers;
		asked.push([base, whose].filter(Boolean).join(" "));
		const [status, headers, body] = answers.shift();
		return Promise.resolve(new Response(body, {status, headers}));
	};
	const caller = {token: "", get headers() { return this.token ? {Authorization: this.token} : {}; }};
	const source = new Source("fake.json", caller);
	const next = async () => (await source.fetch()).value;
	const whole = await next();
	const same = await next();
	const changed = await next();
	const hidden = await next();
	const again = await next();
	const quiet = await next();
	const refused = await source.fetch();
	caller.token = "ada";
	const others = await next();
	const broken = await source.fetch();
	const repaired = await next();
	window.fetch = real;
	const own = (part) => Object.hasOwn(part, "__proto__") && Object.getPrototypeOf(part) === Object.prototype && part.x === undefined;
	window.told = {
		asked: asked.join(),
		same: same === whole,
		kept: changed !== whole && changed.a !== whole.a && changed.b === whole.b && changed.a.list === whole.a.list,
		changed: Object.keys(changed).sort().join() === "a,b" && changed.a.deep === 9007199254740995n && !("gone" in changed.a) && own(changed.a),
		hidden: hidden.a !== changed.a && own(hidden.a) && Object.entries(hidden.a).at(-1)[1].x === 2 && Object.entries(changed.a).at(-1)[1].x === 1,
		base: whole.a.deep === 1 && whole.a.gone === 1 && whole.c === 3,
		again: again.whole && quiet === again,
		refused: refused.value === undefined && refused.status === 401 && refused.detail === "no",
		others: others.whole === true && others !== again,
		broken: broken.value === undefined && repaired.whole === 2,
	};
})`

// sources asks for documents, and keeps what has not changed.
func sources(v *visit) error {
	reports := func(what string) step { return v.awaits(what, `window.told[%s] === true`, what) }
	return do(v.opens(""), func() error { return v.run(fakeServer) },
		v.awaits("what was asked for", `window.told?.asked === ',"1","1","2","3",,,ada,"4" ada,"4" ada'`),
		reports("same"), reports("kept"), reports("changed"), reports("hidden"), reports("base"), reports("again"),
		reports("refused"), reports("others"), reports("broken"),
		func() error { return v.run(changedSchema) },
		v.awaits("what has not changed stays", `window.read?.kept`),
		v.awaits("what uses a changed schema does not", `window.read.changed`),
		v.awaits("neither do events", `window.read.events`),
	)
}

// changedSchema changes a schema that one operation and one event use through another.
const changedSchema = `Promise.all(["document", "eventdocument", "source"].map((name) => import("./" + name + ".js"))).then(([{readServices}, {readEvents}, {share}]) => {
	const refers = (name) => ({$ref: "#/components/schemas/" + name});
	const components = {schemas: {a_Outer: {properties: {inner: refers("a_Inner")}}, a_Inner: {type: "string"}, a_Other: {type: "object"}}};
	const change = (before) => {
		const after = structuredClone(before);
		after.components.schemas.a_Inner.type = "integer";
		return share(before, after);
	};
	const post = (name) => ({post: {requestBody: {content: {"application/json": {schema: refers(name)}}}}});
	const document = {components, paths: {"/a.example:443/x": post("a_Outer"), "/a.example:443/y": post("a_Other")}};
	const changed = change(document);
	const [before, after] = [document, changed].map((one) => readServices(one)[0].operations);
	const channel = (name) => ({messages: {m: {payload: refers(name)}}});
	const described = {components, channels: {"a.example/x": channel("a_Outer"), "a.example/y": channel("a_Other")}};
	const [old, fresh] = [described, change(described)].map(readEvents);
	const type = ({schema, follow}) => follow(schema.properties.inner).schema.type;
	window.read = {
		kept: before[1] === after[1] && readServices(changed)[0].operations[0] === after[0],
		changed: type(before[0].body.schema) === "string" && type(after[0].body.schema) === "integer" && before[0].fingerprint !== after[0].fingerprint,
		events: old[1] === fresh[1] && type(old[0].payload) === "string" && type(fresh[0].payload) === "integer" && old[0].fingerprint !== fresh[0].fingerprint,
	};
})`
