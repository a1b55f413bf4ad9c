package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMisuse(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	e.serveProducts()
	e.serveTrouble()
	e.serveParcels()
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, row := range []struct {
		arguments []string
		want      string
	}{
		// the command line itself
		{[]string{"lss"}, "busline: there is no command lss, see busline --help; did you mean ls?"},
		{[]string{"help", "cal"}, "there is no command cal, see busline --help; did you mean call?"},
		{[]string{"--jsn", "ls"}, "busline: there is no flag --jsn; did you mean --json?"},
		{[]string{"ls", "--wach"}, "busline ls: there is no flag --wach; did you mean --watch?"},
		{[]string{"ls", "--timeout"}, "--timeout: the value is missing"},
		{[]string{"ls", "--timeout", "5"}, `--timeout: "5" is not valid; write a time such as 500ms, 20s or 2m`},
		{[]string{"ls", "--timeout=0s"}, "--timeout 0s: choose a time such as 20s"},
		{[]string{"ls", "--timeout=600001ms"}, "--timeout 10m0.001s: choose at most 600s"},
		{[]string{"ls", "--json=maybe"}, `--json: "maybe" is not valid; write true or false`},
		{[]string{"ls", "--plane", "a b"}, `plane "a b": not 1 to 64 characters of letters`},
		{[]string{"ls", "-w", "--every", "-1s"}, "--every -1s: choose a time such as 2s"},
		{[]string{"ls", "[a"}, `"[a" is not a host pattern`},
		{[]string{"tap", ""}, "a host pattern is empty: name a host"},
		{[]string{"bench", "-c", "0", "calculator.example/add"}, "-c 0: choose 1 to 10000"},
		{[]string{"bench", "-c", "x", "calculator.example/add"}, `-c: "x" is not valid; write an integer`},
		{[]string{"bench", "-n", "-1", "calculator.example/add"}, "-n -1: choose at least 1"},
		{[]string{"bench", "-n", "0", "calculator.example/add"}, "-n 0: choose at least 1"},
		{[]string{"bench", "-d", "-1s", "calculator.example/add"}, "-d -1s: choose a time such as 10s"},
		{[]string{"bench"}, "name what to call, as in: busline bench calculator.example/add x=5 y=6"},
		{[]string{"completion"}, "name a shell: one of bash, fish, powershell, zsh"},
		{[]string{"completion", "tcsh"}, "name a shell: "},
		{[]string{"version", "1"}, "version takes no arguments"},
		{[]string{"asyncapi", "a.example", "b.example"}, "name one host, or none for all hosts"},
		{[]string{"docs", "a.example", "b.example"}, "name one host, or none for all hosts"},
		{[]string{"docs", "calculator.example/add"}, "busline describe calculator.example/add shows one path"},
		{[]string{"docs", "--base-url", "api"}, `--base-url: "api" is not an address such as https://api.example.com`},
		{[]string{"describe"}, "name a host, as in: "},
		{[]string{"events", "lss"}, "busline events: there is no command lss, see busline events --help; did you mean ls?"},
		{[]string{"events", "ls", "a.example", "b.example"}, "name one publisher, or none for all"},
		{[]string{"events", "describe"}, "name a publisher, as in: busline events describe orders.example"},
		{[]string{"events", "tail", "a.example", "b.example"}, "name a publisher, as in: busline events tail orders.example"},
		{[]string{"events", "tail", "a.example", "--since", "soon"},
			`--since: "soon" is not valid; write how long ago, such as 10m or 2d, a time such as 2026-11-26T07:00:00Z, or beginning`},
		{[]string{"events", "tail", "a.example", "--since", "-1m"}, `--since: "-1m" is not valid`},
		{[]string{"events", "publish", "a.example"},
			"name a publisher and an event, as in: busline events publish orders.example on-ordered number=7"},
		{[]string{"events", "publish", "a_b", "on-ordered"}, `host "a_b"`},
		{[]string{"events", "publish", "a.example", "on-ordered", "5"}, `"5" is not an argument; write name=value`},
		{[]string{"events", "replay", "a.example"},
			"name a publisher and a service, as in: busline events replay orders.example mailer.example --from 10m"},
		{[]string{"events", "replay", "a.example", "b.example"}, "--from is missing: since when events come again"},
		{[]string{"events", "replay", "a.example", "b.example", "--from", "xd"}, `--from: "xd" is not valid`},
		{[]string{"events", "replay", "a.example", "b.example", "-from", "2d"},
			"add --yes to deliver the events of a.example since "},
		{[]string{"events", "forget", "a.example"},
			"name a publisher and a service, as in: busline events forget orders.example mailer.example"},
		{[]string{"events", "dead-letters"},
			"name a publisher and perhaps a service, as in: busline events dead-letters orders.example mailer.example"},
		{[]string{"events", "dead-letters", "orders_example"}, `host "orders_example"`},
		{[]string{"events", "dead-letters", "orders.example", "--redeliver", "--delete"},
			"--redeliver and --delete exclude each other"},
		{[]string{"permissions", "a b"}, `callee "a b"`},

		// addresses
		{[]string{"call"}, "name what to call, as in: "},
		{[]string{"call", "calc_x/add"}, `"calc_x/add" is not an address such as calculator.example/add: host "calc_x"`},
		{[]string{"call", "calculator.example:x/add"},
			`"calculator.example:x/add" is not an address such as calculator.example/add: invalid port`},
		{[]string{"call", "ftp://calculator.example/add"}, "neither https nor http"},
		{[]string{"call", "calculator.example:0/add"}, `port "0": not from 1 to 65535`},
		{[]string{"call", "calculator.example/%zz"}, "is not an address"},
		{[]string{"call", "calculator.example/ad"}, "calculator.example serves nothing at /ad; its paths are /add, " +
			"/arithmetic, /distance (seen without a token); did you mean /add?"},
		{[]string{"call", "http://calculator.example/add"},
			"calculator.example:80 serves nothing at /add; http:// means port 80, leave it out for port 443"},
		{[]string{"call", "parcels.example/internal"},
			"parcels.example serves /internal on port 444, not on 443: write parcels.example:444/internal"},
		{[]string{"describe", "calculator.example/ad"}, "did you mean /add?"},
		{[]string{"call", "calculator.example/add", "--instance", "A!"}, `--instance: instance ID "A!"`},
		{[]string{"call", "calculator.example/add", "--instance", "abc", "--all"},
			"cannot be combined: call every instance, or one"},
		{[]string{"call", "calculator.example/add", "-X", "G T"}, "-X G T: a method is a word such as GET"},
		{[]string{"call", "calculator.example/add", "--raw", "--all"},
			"--raw does not go with --all, which has a line for each answer: add -i"},
		{[]string{"call", "calculator.example/add", "-H", "nothing"},
			`-H: "nothing" is not valid; write a header that is for callers to set, such as Accept: text/plain`},
		{[]string{"call", "calculator.example/add", "-H", "A B: c"}, `-H: "A B: c" is not valid; write a header that`},
		{[]string{"call", "calculator.example/add", "-H", "host: other.example"},
			`-H: "host: other.example" is not valid; write a header that`},
		{[]string{"bench", "calculator.example/add", "-H", "Bus-Time-Budget: 1"},
			`-H: "Bus-Time-Budget: 1" is not valid; write a header that`},

		// arguments
		{[]string{"call", "calculator.example/add", "5"}, `"5" is not an argument; write name=value or name:=json`},
		{[]string{"call", "GET", "https://calculator.example/add"},
			`"https://calculator.example/add" is where an argument would be: the address comes first, and -X names the method`},
		{[]string{"call", "calculator.example/add", "=5"}, `"=5" is not an argument`},
		{[]string{"call", "calculator.example/add", ":=5"}, `":=5" is not an argument`},
		{[]string{"call", "calculator.example/add", "z=1"}, "there is no argument z: calculator.example/add takes x, y"},
		{[]string{"call", "calculator.example/arithmetic", "pp=+"},
			"there is no argument pp: calculator.example/arithmetic takes x, op, y; did you mean op?"},
		{[]string{"call", "trouble.example/panic", "z=1"}, "there is no argument z: trouble.example/panic takes none"},
		{[]string{"call", "calculator.example/add", "x=five"}, `argument x is an integer, not "five"`},
		{[]string{"call", "calculator.example/add", "x=1.5"}, `argument x is an integer, not "1.5"`},
		{[]string{"call", "calculator.example/add", "x="}, `argument x is an integer, not ""`},
		{[]string{"call", "calculator.example/add", "x:=true"}, `argument x is an integer, not "true"`},
		{[]string{"call", "calculator.example/add", "x:=5y"}, "x: the value after := has to be JSON; for text write x=…"},
		{[]string{"call", "calculator.example/add", "x=1", "x=2"}, "argument x is given more than once"},
		{[]string{"call", "calculator.example/add", "x.y=1"}, "argument x.y: x is an integer and has no parts"},
		{[]string{"call", "calculator.example/distance", "p1.z=1"}, "there is no argument p1.z: p1 has x, y"},
		{[]string{"call", "calculator.example/distance", "p1.x=a"}, `argument p1.x is a number, not "a"`},
		{[]string{"call", "calculator.example/distance", "p1=5"},
			`argument p1 is a Point, not "5"; write its parts as p1.x=…, or all of it as p1:='{…}'`},
		{[]string{"call", "calculator.example/distance", "p1.x=1", "p1:={}"}, "argument p1 is given as a whole and in parts"},
		{[]string{"call", "calculator.example/distance", `p1:={"x":"a"}`}, "argument p1 is a Point"},
		{[]string{"call", "products.example/products", "price=x", "name=Tea"}, `argument price is a number, not "x"`},
		{[]string{"call", "products.example/products", "tags:=5"},
			`argument tags is an array of string, not "5"; repeat tags=…, or write tags:='[…]'`},
		{[]string{"call", "products.example/products", "tags.x=5"}, "tags is an array: repeat it, write tags.0=…"},
		{[]string{"call", "products.example/products", "sortby=x"},
			"there is no argument sortby: products.example/products takes sortBy, limit, offset, name, price, tags; " +
				"did you mean sortBy?"},
		{[]string{"call", "products.example/products", "name=x", "limit=3"},
			"no method of products.example/products takes all these arguments"},
		{[]string{"call", "products.example/products/{id}"}, "argument id is missing: it is part of the path /products/{id}"},
		{[]string{"call", "products.example/products/{id}", "id:=null"}, "argument id is an integer"},
		{[]string{"call", "products.example/products/7", "id=8"}, "argument id: its value is already in the path"},

		// bodies
		{[]string{"call", "products.example/products", "{}", "[]"}, "the body is given twice; the second is"},
		{[]string{"call", "products.example/products", "@" + empty + ".not"}, "the body: open "},
		{[]string{"call", "products.example/products", `{"name":`},
			"the body is not JSON, which POST products.example/products takes"},
		{[]string{"call", "products.example/products", "{}", "name=Tea"},
			"argument name is part of the body, which is already given as a whole"},
		{[]string{"call", "-X", "GET", "products.example/products", "{}"}, "GET products.example/products takes no body"},

		// tokens
		{[]string{"token", "hr"}, `"hr" is not expected here; claims are one JSON object`},
		{[]string{"token", "--claims", "roles"}, `--claims: "roles" is not a JSON object such as`},
		{[]string{"token", "--claims", "[]"}, `--claims: "[]" is not a JSON object`},
		{[]string{"token", "--claims", "null"}, `--claims: "null" is not a JSON object`},
		{[]string{"token", "--expires", "0s"}, "--expires 0s: choose a time such as 1h"},
	} {
		e.refuses(2, row.want, row.arguments...)
	}
}
