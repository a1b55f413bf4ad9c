package main_test

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// refusal is a package, what apigen is asked to do with it, and what it says.
type refusal struct {
	flags string
	files map[string]string // api.go when it is one
	want  string
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"":                            "-type is missing: name an interface of this package",
		"-type":                       "flag needs an argument: -type",
		"-type A B":                   `"B" is not a flag`,
		"-type A,B":                   "-type A,B: not the name of a type; run apigen once for each interface",
		"-typ A":                      "flag provided but not defined: -typ",
		"-type A -client client":      "-client client: not a name that begins with a capital letter",
		"-type A -client a.Client":    "-client a.Client: not a name that begins with a capital letter",
		"-type A -output b/c.go":      "-output b/c.go: not the name of a Go file of this folder, such as a_gen.go",
		"-type A -output c_test.go":   "-output c_test.go: not the name of a Go file of this folder, such as a_gen.go",
		"-type A -output c":           "-output c: not the name of a Go file of this folder, such as a_gen.go",
		"-type A -host a_b":           `-host: host "a_b": label "a_b" is not 1 to 63 characters of a-z, 0-9 and inner hyphens`,
		"-type A -host a:0":           `-host: port "0": not from 1 to 65535`,
		"-type A -resource a/{b":      `-resource: path "/a/{b": segment "{b": a parameter is a whole segment, {name}, or {name+} at the end for all the rest`,
		"-type A -events -host a:417": "-host a:417: events have a port of their own; give the host without a port",
		"-type A -events -resource a": "-resource: events have no resource; omit it, or omit -events",
		"-type A -events yes":         `"yes" is not a flag`,
	} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			status, complaints := module{t.TempDir()}.run(t, ".", strings.Fields(flags)...)
			if want := "apigen: " + want + "; see apigen -h\n"; status != 2 || complaints != want {
				t.Errorf("status %d\ngot:  %swant: %s", status, complaints, want)
			}
		})
	}
}

func TestRefusedTypes(t *testing.T) {
	t.Parallel()
	const two = "package p\n\ntype Calculator interface{ Add(x int) error }\n\ntype Store interface{ Get(x int) error }\n"
	checkRefusals(t, map[string]refusal{
		"misspelled": {"-type calculator", files(two), "there is no type calculator in package p; its interfaces are Calculator, Store"},
		"none":       {"-type Nothing", files("package p\n"), "there is no type Nothing in package p, and no other interface"},
		"in a test": {"-type T", map[string]string{"p.go": "package p\n", "t_test.go": "package p\n\ntype T interface{}\n"},
			"there is no type T in package p; the one in t_test.go does not count, because it exists only in tests"},
		"other build": {"-type T", map[string]string{"p.go": "package p\n", "t_plan9.go": "package p\n\ntype T interface{}\n"},
			"there is no type T in package p; the one in t_plan9.go is not part of this build: set GOOS, GOARCH or GOFLAGS=-tags=… to match the file"},
		"behind a fault": {"-type T", map[string]string{"p.go": "package p\n", "t.go": "package p\n\nfunc {\n\ntype T interface{}\n"},
			"there is no type T in package p, and no other interface\napigen: t.go:3: expected 'IDENT', found '{'"},
		"a struct": {"-type T", files("package p\n\ntype T struct{}\n"),
			"api.go:3: T is not an interface, and apigen supports nothing else; to serve a struct no client is needed: embed its source and pass it with bus.Source"},
		"a function": {"-type T", files("package p\n\nfunc T() {}\n"), "api.go:3: T is not a type; -type needs an interface"},
		"generic": {"-type T", files("package p\n\ntype T[K any] interface{ Get(x K) error }\n"),
			"api.go:3: T has type parameters, which callers cannot choose: declare an interface without them, as in type TOfInt interface { T[int] }"},
		"generic alias": {"-type U", files("package p\n\ntype T[K any] interface{ Get(x K) error }\n\ntype U[K any] = T[K]\n"),
			"api.go:5: U has type parameters, which callers cannot choose: declare an interface without them, as in type UOfInt interface { U[int] }"},
		"constraint": {"-type T", files("package p\n\ntype T interface{ ~int; Get(x int) error }\n"),
			"api.go:3: T is a type constraint, so no value of it can be served: use an interface with methods only"},
		"comparable": {"-type T", files("package p\n\ntype T interface{ comparable; Get(x int) error }\n"),
			"api.go:3: T is a type constraint, so no value of it can be served: use an interface with methods only"},
		"empty": {"-type T", files("package p\n\ntype T interface{}\n"), "api.go:3: T has no methods"},
		"literal": {"-type T", files("package p\n\ntype T = interface{ Get(x int) error }\n"),
			"api.go:3: T is an alias for an interface without a name: declare it as a type of its own, without the ="},
		"unknown":     {"-type T", files("package p\n\ntype T Missing\n"), "api.go:3: undefined: Missing"},
		"no package":  {"-type T", nil, "there is no Go package in this folder: run apigen in the folder of the interface, as go generate does"},
		"two of them": {"-type T", map[string]string{"a.go": "package a\n", "b.go": "package b\n"}, "there are two packages in this folder: a in a.go, b in b.go"},
	})
}

func TestRefusedEvents(t *testing.T) {
	t.Parallel()
	of := func(method string) map[string]string {
		return files("package p\n\nimport \"net/http\"\n\nvar _ http.Handler\n\nconst Host = \"h\"\n\ntype E interface {\n\t" + method + "\n}\n")
	}
	checkRefusals(t, map[string]refusal{
		"a call":    {"-type E -events", of("Ordered(x int) error"), "api.go:10: method Ordered: is not an event: call it OnOrdered, or take it out of the interface"},
		"online":    {"-type E -events", of("Online() error"), "api.go:10: method Online: is not an event: call it OnOnline, or take it out of the interface"},
		"a result":  {"-type E -events", of("OnX() (y int, err error)"), "api.go:10: method OnX: returns y, but nobody waits for results of an event: it may return only an error"},
		"no client": {"-type E -events -client none", of("OnX() (y int, err error)"), "api.go:10: method OnX: returns y, but nobody waits for results of an event: it may return only an error"},
		"a port": {"-type E -events", files("package p\n\nconst Host = \"h:443\"\n\ntype E interface{ OnX() error }\n"),
			"api.go:5: the host h:443 has a port, but events have a port of their own: give the host without a port, with -host"},
		"no host": {"-type E -events", files("package p\n\ntype E interface{ OnX() error }\n"),
			"api.go:3: nothing says which host fires the events of E: declare a constant Host, or name it with -host"},
		"a name": {"-type E -events -host h", files("package p\n\ntype Source int\n\ntype E interface{ OnX() error }\n"),
			"api.go:3: Source is declared here, but the client needs the name: rename it, or the client with -client"},
	})
}

func TestRefusedMethods(t *testing.T) {
	t.Parallel()
	const misfit = "; change it, or take it out of the interface"
	const unnamed = " unnamed, but callers use the names: write them in the interface"
	const choose = "declare a route in its comment, as in //busline:route POST /orders/{id}/cancel"
	const routed = "; a client derives the routes from the method names: rename the method, or " + choose
	const untold = ", an interface, so it is unknown which type to decode: use a struct, or any"
	messages := map[string]string{
		"add(x int) error": "is not exported, so only this package can implement it: start its name with a capital letter, or take it out of the interface",
		"Unnamed(context.Context, int, string) error": "arguments 1 and 2 are" + unnamed,
		"Blank(x, _ int) error":                       "argument 2 is" + unnamed,
		"Results(x int) (int, string, error)":         "results 1 and 2 are" + unnamed,
		"Channel(c chan Order) error":                 "argument 1 cannot be encoded as JSON: it is of type chan Order" + misfit,
		"Nested(o map[string][]*Order) error":         "argument 1 cannot be encoded as JSON: field Order.Notify is of type chan<- string" + misfit,
		"Interface(h Holder, c closer) error":         "argument 1 cannot be encoded as JSON: field Holder.R is of type io.Reader: take or return a []byte, or make it a web method (w http.ResponseWriter, r *http.Request); argument 2 cannot be encoded as JSON: it is of type closer" + untold + misfit,
		"Late(x int, ctx context.Context) error":      "argument 2 is a context.Context: it can only be the first argument" + misfit,
		"Early() (err error, x int)":                  "result 1 is an error: it can only be the last result" + misfit,
		"OwnError(x int) (e *ownError)":               "result 1 is of type *ownError, which implements error: declare it as error, or add an error after it" + misfit,
		"Request(r http.Request) error":               "argument 1 is of type http.Request: a web method is exactly (w http.ResponseWriter, r *http.Request), with an error or nothing as its result" + misfit,
		"Keys(m map[Point]int) error":                 "argument 1 cannot be encoded as JSON: a key of it is of type Point: use a string, an integer or a type that marshals as text" + misfit,
		"Closed(m sync.Mutex) error":                  "argument 1 cannot be encoded as JSON: it is of type sync.Mutex, a struct without exported fields: use a string, or a type that marshals itself" + misfit,
		"Literal(v struct{ C chan int }) error":       "argument 1 cannot be encoded as JSON: field struct{C chan int}.C is of type chan int" + misfit,
		"Twin(t Twins, f Fine) error":                 "argument 1 cannot be encoded as JSON: field Twins.D is of type chan int" + misfit,
		"Self(s selfish) error":                       "argument 1 cannot be encoded as JSON: it is of type selfish, a struct that embeds itself" + misfit,
		"Circle(c circle) error":                      "argument 1 cannot be encoded as JSON: it is of type *circle, a pointer to itself" + misfit,
		"Function(f func(int) (string, error)) error": "argument 1 cannot be encoded as JSON: it is of type func(int) (string, error)" + misfit,
		"Numbers(c complex128, u []uintptr, p unsafe.Pointer) error": "argument 1 cannot be encoded as JSON: it is of type complex128; argument 2 cannot be encoded as JSON: an element of it is of type uintptr; " +
			"argument 3 cannot be encoded as JSON: it is of type unsafe.Pointer" + misfit,
		"Magic(httpResponseBody int) (httpRequestBody int, err error)": "httpResponseBody is an argument; it has to be a result; httpRequestBody is a result; it has to be an argument",
		"Whole() (httpResponseBody, total int, err error)":             "httpResponseBody is the whole body, so there is no place for the result total",
		"Status() (httpStatusCode string, err error)":                  "httpStatusCode is of type string; it has to be an int",
		"Delete(p Point) error":                                        "path /calcs/{p}: argument p is of type Point, which does not fit in a path; take a string or a number" + routed,
		"Update(own ownJSON) error":                                    "path /calcs/{own}: argument own is of type ownJSON, which does not fit in a path; take a string or a number" + routed,
		"Patch(httpRequestBody int) error":                             "needs an argument that identifies the item of /calcs, as in /calcs/{id}; or give it a path" + routed,
		"SaveREST(x int) error":                                        "is served as REST, but its name does not start with a CRUD verb: give it a path and an HTTP method" + routed,
		"NoError(ctx context.Context) (sum int)":                       "returns no error, but a call over the bus can fail: add an error as its last result, or write no client with -client none",
		"ForHost(x int) error":                                         "has the name of a method that every client has: rename it, or write no client with -client none",
		"Collide(x int) (id, ID, Id int, err error)":                   "the results id and ID would both be the field ID of CollideResults: rename one of them",
		"DefaultQueue(x int) error":                                    "",
		"Default_Queue(x int) error":                                   "is served as GET /default-queue, and so is method DefaultQueue: rename one of them, or " + strings.Replace(choose, "its route", "their routes", 1),
	}
	messages["Many(_ "+strings.Repeat("int, _ ", 129)+"int) error"] = "has 131 parameters and results, more than 128: put some into a struct"
	var api, want strings.Builder
	api.WriteString("package p\n\nimport (\"context\"; \"io\"; \"net/http\"; \"sync\"; \"unsafe\")\n\ntype Calc interface {\n")
	line := 5
	for _, method := range slices.Sorted(maps.Keys(messages)) {
		line++
		api.WriteString("\t" + method + "\n")
		if messages[method] != "" {
			name, _, _ := strings.Cut(method, "(")
			want.WriteString("apigen: api.go:" + strconv.Itoa(line) + ": method " + name + ": " + messages[method] + "\n")
		}
	}
	api.WriteString(`}

type (
	Order    struct{ Notify chan<- string }
	Holder   struct{ R io.Reader }
	Point    struct{ X, Y int }
	Twins    struct{ Embedded1; Embedded2; Fine }
	Fine     struct{ Order int }
	Embedded1 struct{ C chan int }
	Embedded2 struct{ C int; D chan int }
	closer   interface{ Close() error }
	ownError struct{}
	selfish  struct{ *selfish }
	circle   *circle
	ownJSON  struct{ x int }
)

func (*ownError) Error() string { return "" }

func (ownJSON) MarshalJSON() ([]byte, error) { return nil, nil }
`)
	checkRefusals(t, map[string]refusal{
		"one route for two": {"-type T", files("package p\n\ntype T interface {\n\tRead(id int) (httpResponseBody int, err error)\n\tGet(id int) (httpResponseBody int, err error)\n}\n"),
			"api.go:5: method Get: is served as GET /ts/{id}, and so is method Read: rename one of them, or " + strings.Replace(choose, "its route", "their routes", 1)},
		"all at once": {"-type Calc", files(api.String()), strings.TrimPrefix(strings.TrimSuffix(want.String(), "\n"), "apigen: ")},
	})
}

func TestRefusedClients(t *testing.T) {
	t.Parallel()
	const add = "\ntype Adder interface{ Add(x int) (sum int, err error) }\n"
	const taken = " is declared here, but the client needs the name: rename it, or the client with -client"
	const marked = "// Code generated by apigen -type Adder; DO NOT EDIT.\n\npackage p\n\n"
	checkRefusals(t, map[string]refusal{
		"names": {"-type Adder", files("package p\n" + add + "type Client int\nfunc NewClient() {}\nvar newClient int\ntype Multicast int\ntype AddResults int\nconst addArguments = 1\n"),
			"api.go:4: Client" + taken + "\napigen: api.go:5: NewClient" + taken + "\napigen: api.go:6: newClient" + taken +
				"\napigen: api.go:7: Multicast" + taken + "\napigen: api.go:8: AddResults" + taken + "\napigen: api.go:9: addArguments" + taken},
		"capitals": {"-type T", files("package p\n\ntype T interface {\n\tHTTPGet(x int) error\n\t//busline:route POST /other\n\tHttpGet(x int) error\n}\n"),
			"api.go:6: method HttpGet: its arguments would be of the type httpGetArguments, and so would those of HTTPGet: rename one of them"},
		"its own name": {"-type Client", files("package p\n\ntype Client interface{ Ping() error }\n"), "api.go:3: Client" + taken},
		"another output": {"-type Adder", map[string]string{"api.go": "package p\n" + add, "old_gen.go": marked + "type Client int\n\nfunc NewClient() {}\n"},
			"old_gen.go: apigen wrote this file too, and it declares the same names: delete it, or give this client a name of its own with -client"},
		"by hand": {"-type Adder", map[string]string{"api.go": "package p\n" + add, "adder_gen.go": "package p\n"},
			"adder_gen.go exists, but apigen did not write it: choose another file with -output"},
		"by hand, about apigen": {"-type Adder -output lint.go", map[string]string{"api.go": "package p\n" + add, "lint.go": "package p\n\nconst mark = \"// Code generated by apigen -type T; DO NOT EDIT.\"\n"},
			"lint.go exists, but apigen did not write it: choose another file with -output"},
		"of another type": {"-type T -output gen.go", map[string]string{"api.go": "package p\n" + add + "\ntype T interface{ Sub(x int) error }\n", "gen.go": marked},
			"api.go:3: gen.go is the file of Adder: choose another for T with -output, or delete it"},
		"web methods": {"-type T", files("package p\n\nimport \"net/http\"\n\ntype T interface{ Home(w http.ResponseWriter, r *http.Request) }\n"),
			"api.go:5: T has only web methods, which no client has: write no client with -client none"},
		"host": {"-type Adder", files("package p\n\nconst Host = \"no_host\"\n" + add),
			`api.go:3: host "no_host": label "no_host" is not 1 to 63 characters of a-z, 0-9 and inner hyphens; correct it, or name another with -host`},
		"variable host": {"-type Adder", files("package p\n\nvar Host = \"adder.example\"\n" + add),
			"api.go:3: Host is a variable, but a client needs a fixed host: make it a constant, or name the host with -host"},
		"named host": {"-type Adder", files("package p\n\ntype Name string\n\nconst Host Name = \"adder.example\"\n" + add),
			"api.go:5: Host is a constant of the type Name, but a client needs a string: declare it as one, or name the host with -host"},
		"number": {"-type Adder", files("package p\n\nconst Host = 1\n" + add),
			"api.go:3: Host is a constant of the type int, but a client needs a string: declare it as one, or name the host with -host"},
		"unknown host": {"-type Adder", files("package p\n\nconst Host = missing\n" + add),
			"api.go:3: Host is a constant of an unknown type, but a client needs a string: declare it as one, or name the host with -host"},
		"no host": {"-type Größe", files("package p\n\ntype Größe interface{ Ping() error }\n"), "api.go:3: Größe does not make a valid host: declare a constant Host, or name one with -host"},
	})
}

const unread = "this declares no route: it has to begin with //busline:route, without a blank, in the comment directly above a method"

// What is wrong with the routes that comments declare.
func TestRefusedRoutes(t *testing.T) {
	t.Parallel()
	of := func(directives string) map[string]string {
		return files("package p\n\ntype T interface {\n" + directives + "\n\tAdd(id int) error\n}\n")
	}
	checkRefusals(t, map[string]refusal{
		"misspelled": {"-type T", of("\t//busline:rout GET /a"), "api.go:5: method Add: its comment has //busline:rout, which nobody reads: there is only //busline:route"},
		"twice":      {"-type T", of("\t//busline:route GET /a\n\t//busline:route GET /b"), "api.go:6: method Add: its comment has more than one //busline:route: leave one"},
		"no method": {"-type T", of("\t//busline:route /a/{id}"),
			`api.go:5: method Add: its comment has "//busline:route /a/{id}": write a method and a path, as in //busline:route POST /orders/{id}/cancel`},
		"nothing": {"-type T", of("\t//busline:route"),
			`api.go:5: method Add: its comment has "//busline:route": write a method and a path, as in //busline:route POST /orders/{id}/cancel`},
		"no path": {"-type T", of("\t//busline:route GET a"), `api.go:5: method Add: path "a": does not start with a slash`},
		"small":   {"-type T", of("\t//busline:route get /a"), `api.go:5: method Add: HTTP method "get": write it in capital letters, or "*" for any`},
		"misspelt": {"-type T", of("\t//busline:route PSOT /a"),
			`api.go:5: method Add: its interface declares the HTTP method "PSOT": write one of GET, POST, PUT, PATCH, DELETE, or "*" for any`},
		"a folder":       {"-type T", of("\t//busline:route GET /a/../b"), `api.go:5: method Add: path "/a/../b": segment "..": browsers take it for another folder, and call another path`},
		"no argument":    {"-type T", of("\t//busline:route GET /a/{x}"), `api.go:5: method Add: path /a/{x}: the method has no argument "x"`},
		"of a sibling":   {"-type T", files("package p\n\ntype T interface {\n\t//busline:route POST /sub\n\tAdd(id int) error\n\tSub(id int) error\n}\n"), `api.go:6: method Sub: is served as POST /sub, and so is method Add: rename one of them, or declare a route in its comment, as in //busline:route POST /orders/{id}/cancel`},
		"a blank":        {"-type T", of("\t// busline:route GET /a"), "api.go:4: " + unread},
		"a capital":      {"-type T", of("\t// Add adds.\n\t//Busline:route GET /a"), "api.go:5: " + unread},
		"no colon":       {"-type T", of("\t//busline route GET /a"), "api.go:4: " + unread},
		"another colon":  {"-type T", of("\t//busline-route GET /a"), "api.go:4: " + unread},
		"in a block":     {"-type T", of("\t/*\n\tAdd adds.\n\t//busline:route GET /a\n\t*/"), "api.go:4: " + unread},
		"an empty line":  {"-type T", of("\t//busline:route GET /a\n"), "api.go:4: " + unread},
		"behind":         {"-type T", files("package p\n\ntype T interface {\n\tAdd(id int) error //busline:route GET /a\n}\n"), "api.go:4: " + unread},
		"at the end":     {"-type T", files("package p\n\ntype T interface {\n\tAdd(id int) error\n\t//busline:route GET /a\n}\n"), "api.go:5: " + unread},
		"of the type":    {"-type T", files("package p\n\n// T is.\n//busline:route GET /a\ntype T interface {\n\tAdd(id int) error\n}\n"), "api.go:4: " + unread},
		"of an embedded": {"-type T", files("package p\n\ntype B interface{ Add(id int) error }\n\ntype T interface {\n\t//busline:route GET /a\n\tB\n}\n"), "api.go:6: " + unread},
		"of an event": {"-type T -events -host h", files("package p\n\ntype T interface {\n\t//busline:route POST /sub\n\tOnSub(id int) error\n}\n"),
			"api.go:5: method OnSub: declares the route POST /sub, but events have paths of their own: leave out //busline:route"},
	})
}

// What is wrong in the source of the interface is told like the compiler would.
func TestRefusedSource(t *testing.T) {
	t.Parallel()
	checkRefusals(t, map[string]refusal{
		"unknown types": {"-type T", map[string]string{
			"api.go":  "package p\n\nimport \"example.com/nowhere\"\n\ntype T interface {\n\tAdd(x Missing, y Part) error\n\tFar(x nowhere.Type) error\n\tOther\n}\n",
			"part.go": "package p\n\ntype Part struct{ Field *Missing2 }\n\ntype Other interface{ Do(x Missing3) error }\n\nvar unrelated Missing4\n"},
			"api.go:3: could not import example.com/nowhere (package example.com/nowhere is missing, or does not compile; run go build example.com/nowhere for details)\n" +
				"apigen: api.go:6: undefined: Missing\napigen: part.go:3: undefined: Missing2\napigen: part.go:5: undefined: Missing3"},
		"twice": {"-type T", files("package p\n\ntype T interface {\n\tAdd(x int) error\n\tAdd(y int) error\n}\n"),
			"api.go:4: other declaration of method Add\napigen: api.go:5: duplicate method Add"},
		"endless instances": {"-type T", files("package p\n\ntype Box[V any] struct{ Boxes []Box[[]V] }\n\ntype T interface {\n\tAdd(x Box[int]) error\n}\n"), "api.go:3: instantiation cycle:\napigen: api.go:3: V instantiated as []V"},
		"syntax":            {"-type T", files("package p\n\ntype T interface {\n\tAdd(x int) error\n\nfunc {\n"), "api.go:6: expected '(', found '{'"},
		"broken import": {"-type T", map[string]string{
			"api.go": "package p\n\nimport \"example.com/cases/refused/q\"\n\ntype T interface{ q.I }\n",
			"q/q.go": "package q\n\ntype I interface{ Add(x Missing) error }\n",
		}, "api.go:3: could not import example.com/cases/refused/q (package example.com/cases/refused/q is missing, or does not compile; run go build example.com/cases/refused/q for details)"},
		"not ours to write": {"-type T", map[string]string{
			"api.go":            "package p\n\nimport \"example.com/cases/refused/q\"\n\ntype T interface{ q.I }\n",
			"q/q.go":            "package q\n\nimport \"example.com/cases/refused/q/internal/r\"\n\ntype hidden = []int\n\ntype I interface {\n\tAdd(x map[string]hidden) error\n\tSub(y *r.Type) error\n}\n",
			"q/internal/r/r.go": "package r\n\ntype Type struct{ X int }\n",
		}, "DIR/q/q.go:8: method Add: has the type q.hidden, which is not exported: this package cannot name it\n" +
			"apigen: DIR/q/q.go:9: method Sub: has the type r.Type, which is internal to another package: this package cannot name it"},
		"magic without a client": {"-type T -client none", files("package p\n\ntype T interface{ FooREST(httpResponseBody int) error }\n"),
			"api.go:3: method FooREST: httpResponseBody is an argument; it has to be a result"},
		"nothing to write": {"-type T -client none", map[string]string{
			"api.go": "package p\n\nimport \"example.com/cases/refused/q\"\n\ntype T = q.I\n",
			"q/q.go": "package q\n\n//go:generate go run github.com/busline/busline/reflectapi/apigen -client none -type=I\n\ntype I interface{ Add(x int) error }\n",
		}, "api.go:5: T has its signature table in package q: without a client there is nothing to write"},
	})
}

func files(api string) map[string]string { return map[string]string{"api.go": api} }

// checkRefusals checks several, each in a package of its own.
func checkRefusals(t *testing.T, refusals map[string]refusal) {
	t.Helper()
	for name, r := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.check(t)
		})
	}
}

// check runs apigen in a package, compares what it says, and that it writes nothing.
func (r refusal) check(t *testing.T) {
	t.Helper()
	m := module{t.TempDir()}
	m.write(t, "go.mod", "module example.com/cases\n\ngo 1.26.0\n")
	m.write(t, "refused/README", "")
	for file, text := range r.files {
		m.write(t, "refused/"+file, text)
	}
	status, complaints := m.run(t, "refused", strings.Fields(r.flags)...)
	want := "apigen: " + strings.ReplaceAll(r.want, "DIR", m.path("refused")) + "\n"
	if status != 1 || complaints != want {
		t.Errorf("status %d\ngot:\n%swant:\n%s", status, complaints, want)
	}
	for file, text := range r.files {
		if string(read(t, m.path("refused/"+file))) != text {
			t.Errorf("%s was changed", file)
		}
	}
	entries, err := os.ReadDir(m.path("refused"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if _, given := r.files[entry.Name()]; !given && !entry.IsDir() && entry.Name() != "README" {
			t.Errorf("%s was written", entry.Name())
		}
	}
}
