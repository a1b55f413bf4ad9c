package docs_test

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// importTable says which of our packages each package may import, lowest
// first: a package can only be allowed what stands above it, so there is no
// way round in circles. "..." on the right is anything; on the left it is every
// package below. What no row allows, such as importing an example, is
// forbidden. Tests may import what they need: those of bus/faulttest import
// nats-server, as only bus/broker does otherwise. No client imports bus/faulttest.
// bus/test/kit is what the tests of bus and of the packages above it share. Nothing but tests imports it.
//
// An example's interface is in a package of its own, which callers import: it
// needs no more than the generated client in it does. mocks comes below these:
// a mock has the types of the interface that it stands in for. It is imported
// by tests alone.
const importTable = `
	reflectapi/similar:
	bus/wire:
	bus/subject:
	bus/internal/batch:
	bus/metrics:
	reflectapi/strictjson:
	bus/claims: reflectapi/strictjson
	bus/internal/signing:
	bus/claims/claimstest: bus/claims bus/internal/signing
	bus/internal/proof: bus/wire bus/subject bus/claims bus/internal/signing
	bus/internal/testcaller: bus/claims
	bus/internal/testbroker:
	bus/internal/worker:
	bus/internal/logqueue:
	bus/internal/status:
	bus/internal/stream: bus/wire bus/internal/status
	bus/internal/callctx: bus/wire bus/claims bus/internal/status bus/internal/worker
	bus/internal/natsconn: bus/wire bus/internal/batch bus/internal/logqueue bus/internal/status
		bus/internal/testbroker bus/internal/worker
	bus/internal/natsmicro: bus/wire bus/metrics bus/internal/status bus/internal/worker bus/internal/natsconn
	bus/internal/client: bus/wire bus/subject bus/internal/callctx bus/internal/natsconn bus/internal/status
		bus/internal/stream bus/internal/worker reflectapi/strictjson
	reflectapi/internal/gotype:
	reflectapi/schema:  reflectapi/internal/gotype reflectapi/similar reflectapi/strictjson
	reflectapi:         reflectapi/internal/gotype reflectapi/schema reflectapi/similar reflectapi/strictjson
	restmap:            reflectapi reflectapi/schema reflectapi/similar reflectapi/strictjson
	bus/internal/server: bus/wire bus/subject bus/internal/callctx bus/internal/natsconn bus/internal/status
		bus/internal/stream bus/internal/worker restmap
	bus/internal/durable: bus/wire bus/subject bus/internal/callctx bus/internal/natsconn bus/internal/server
		bus/internal/status bus/internal/worker
	bus/cmd/apigen:  bus/subject reflectapi restmap
	restmap/openapi:    reflectapi reflectapi/schema restmap reflectapi/strictjson
	restmap/jsonschema: reflectapi/schema reflectapi/strictjson
	restmap/openapi31:  reflectapi/schema reflectapi/strictjson restmap/jsonschema restmap/openapi
	restmap/asyncapi:   reflectapi/schema restmap restmap/jsonschema restmap/openapi restmap/openapi31
		reflectapi/strictjson
	restmap/tsclient:   reflectapi/schema restmap restmap/jsonschema restmap/openapi restmap/asyncapi
	bus/internal/feature: bus/wire bus/subject bus/claims bus/metrics bus/internal/status bus/internal/natsconn
		bus/internal/client bus/internal/server reflectapi restmap restmap/openapi restmap/openapi31
	bus:                bus/wire bus/subject bus/internal/batch bus/claims bus/metrics bus/internal/testcaller
		bus/internal/testbroker bus/internal/worker bus/internal/status bus/internal/logqueue bus/internal/stream
		bus/internal/natsconn bus/internal/natsmicro bus/internal/callctx bus/internal/client bus/internal/server
		bus/internal/feature bus/internal/proof reflectapi/similar reflectapi reflectapi/schema restmap
		reflectapi/strictjson restmap/openapi restmap/openapi31
	bus/events:         bus bus/wire bus/subject bus/claims bus/metrics bus/internal/callctx bus/internal/client
		bus/internal/durable bus/internal/feature bus/internal/logqueue bus/internal/natsconn bus/internal/server
		bus/internal/status bus/internal/worker reflectapi/similar reflectapi reflectapi/schema reflectapi/strictjson restmap
		restmap/openapi restmap/openapi31 restmap/asyncapi
	bus/eventlog:       bus bus/wire bus/subject bus/internal/natsconn bus/internal/durable reflectapi/similar
	bus/events/outbox:  bus bus/events bus/eventlog bus/internal/feature
	bus/interceptors:   bus bus/events bus/internal/feature bus/wire restmap
	bus/otelbus:        bus bus/metrics bus/subject bus/wire
	bus/operators: bus bus/claims
	bus/calltap:        bus bus/subject
	bus/trace:          bus bus/subject bus/wire bus/internal/callctx bus/internal/feature bus/operators
	bus/broker:
	bus/internal/natsconn/natsconntest: bus/broker bus/internal/logqueue bus/internal/natsconn
	restmap/openapi/compare: reflectapi/schema restmap restmap/openapi
	portal/internal/login:
	portal/internal/outside: bus bus/subject bus/wire
	portal/internal/plane: bus bus/subject bus/wire
	portal/internal/answer: bus portal/internal/outside
	portal/internal/callfeed: bus bus/calltap portal/internal/outside
	portal/internal/messages: bus bus/eventlog portal/internal/answer
	portal/internal/tracing: bus bus/trace portal/internal/answer
	portal/ingress:     bus bus/events bus/wire bus/eventlog bus/subject bus/claims bus/metrics
		portal/internal/outside portal/internal/plane restmap/openapi
	bus/bustest:        bus bus/events bus/broker bus/claims bus/claims/claimstest bus/internal/testcaller
		bus/internal/testbroker bus/internal/signing restmap restmap/openapi restmap/openapi/compare portal/ingress
	bus/test/kit:       bus bus/events bus/broker bus/bustest bus/claims bus/claims/claimstest bus/internal/natsconn
		bus/internal/worker bus/subject bus/wire
	bus/test/...:
	portal/internal/portaltest: bus bus/bustest bus/claims bus/subject bus/wire portal/ingress
	portal:             bus bus/wire bus/eventlog bus/subject bus/claims bus/metrics bus/operators
		portal/internal/outside portal/internal/login portal/internal/plane portal/internal/answer portal/internal/callfeed
		portal/internal/messages portal/internal/tracing bus/calltap restmap/openapi restmap/openapi31 restmap/asyncapi
		restmap/tsclient restmap/openapi/compare
	portal/mcp:         bus bus/eventlog bus/subject bus/wire portal/internal/outside portal/internal/plane
		reflectapi/schema reflectapi/similar reflectapi/strictjson restmap restmap/asyncapi restmap/jsonschema restmap/openapi
	msgsvc:             bus
	benchmarks/child:   bus/broker
	benchmarks/latency:
	benchmarks/upgrade/check:
	benchmarks/upgrade/node: benchmarks/child benchmarks/upgrade/check bus bus/events portal portal/ingress
	benchmarks/upgrade: benchmarks/child benchmarks/upgrade/check
	benchmarks/fleet:   benchmarks/child bus bus/subject bus/wire portal portal/ingress
	bus/cmd/busline/internal/contexts: reflectapi/similar
	bus/cmd/busline/internal/output:
	bus/cmd/busline/internal/cli: bus bus/calltap bus/eventlog bus/trace bus/wire bus/claims
		bus/claims/claimstest bus/subject
		bus/internal/signing
		reflectapi/similar reflectapi/schema restmap restmap/openapi restmap/openapi31 restmap/jsonschema restmap/asyncapi
		restmap/tsclient bus/cmd/busline/internal/contexts bus/cmd/busline/internal/output
	bus/cmd/busline/internal/agent: bus/cmd/busline/internal/cli reflectapi/similar
	bus/cmd/busline/internal/gateway: bus bus/cmd/busline/internal/cli portal portal/ingress portal/mcp
	bus/cmd/busline/internal/dev: bus bus/broker bus/claims bus/cmd/busline/internal/cli
		bus/cmd/busline/internal/gateway portal
	examples/template:
	bus/cmd/busline/internal/scaffold: bus/subject bus/cmd/busline/internal/cli examples/template
	bus/cmd/busline:    bus/cmd/busline/internal/agent bus/cmd/busline/internal/cli bus/cmd/busline/internal/dev
		bus/cmd/busline/internal/gateway bus/cmd/busline/internal/scaffold
	examples/calculator/calculatorapi: bus reflectapi
	examples/checkout/checkoutapi:     bus reflectapi
	examples/orders/ordersapi:         bus bus/events reflectapi
	examples/payments/paymentsapi:     bus bus/events reflectapi
	examples/payroll/payrollapi:       bus reflectapi
	examples/products/productapi:      bus reflectapi
	examples/products/productsvc:      bus examples/products/productapi
	examples/trouble/troubleapi:       bus reflectapi
	examples/tutorial/shippingapi:     bus reflectapi
	mocks: bus examples/calculator/calculatorapi examples/checkout/checkoutapi examples/payments/paymentsapi
		examples/payroll/payrollapi
		examples/products/productapi examples/products/productsvc examples/trouble/troubleapi
	examples/...:       ...
	benchmarks:         ...
	bus/faulttest:      ...
	docs:
`

// neverCompiled says what a package must not pull in, however indirectly: the
// layers below bus do not know that there is a broker, and who imports bus,
// the portal or msgsvc compiles neither a NATS server nor a mock.
const neverCompiled = `
	bus/wire:           github.com/nats-io
	bus/subject:        github.com/nats-io
	bus/internal/batch: github.com/nats-io
	reflectapi:         github.com/nats-io
	reflectapi/schema:  github.com/nats-io
	restmap:            github.com/nats-io
	reflectapi/strictjson: github.com/nats-io
	restmap/openapi:    github.com/nats-io
	restmap/asyncapi:   github.com/nats-io
	restmap/tsclient:   github.com/nats-io
	bus:                github.com/nats-io/nats-server github.com/santhosh-tekuri github.com/spf13
		github.com/modelcontextprotocol
		github.com/prometheus github.com/sony golang.org/x/time google.golang.org/protobuf go.opentelemetry.io
		go.uber.org/mock github.com/golang/mock mocks portal github.com/nats-io/nats.go/jetstream bus/events
		restmap/asyncapi
	bus/eventlog:       github.com/nats-io/nats-server github.com/spf13
	bus/cmd/busline/internal/cli: github.com/modelcontextprotocol
	portal/ingress:     github.com/nats-io/nats-server github.com/spf13 go.uber.org/mock github.com/golang/mock mocks
		github.com/modelcontextprotocol
	portal:             github.com/nats-io/nats-server github.com/spf13 go.uber.org/mock github.com/golang/mock mocks
		github.com/modelcontextprotocol
	portal/mcp:         github.com/nats-io/nats-server github.com/spf13 go.uber.org/mock github.com/golang/mock mocks
	msgsvc:             github.com/nats-io/nats-server github.com/spf13 go.uber.org/mock github.com/golang/mock mocks
		github.com/modelcontextprotocol
	bus/cmd/busline:    go.uber.org/mock github.com/golang/mock mocks
`

// goPackage is what go list tells of a package. Our own paths are shortened to
// the part after the module's.
type goPackage struct {
	ImportPath string
	Imports    []string // of ours alone, those of the tests not counted
	Deps       []string // all that is compiled with it, ours or not
}

func TestImports(t *testing.T) {
	t.Parallel()
	rows := parseRows(t, importTable)
	for _, row := range rows {
		for _, name := range row.names {
			if name != "..." && !isAbove(rows, name, row.pkg) {
				t.Errorf("import table: %s is allowed %s, which does not stand above it", row.pkg, name)
			}
		}
	}
	for _, pkg := range listPackages(t) {
		allowed, found := lookUp(rows, pkg.ImportPath)
		if !found {
			t.Errorf("package %s has no row in the import table of docs/imports_test.go", pkg.ImportPath)
			continue
		}
		for _, imported := range pkg.Imports {
			if !slices.Contains(allowed, imported) && !slices.Contains(allowed, "...") {
				t.Errorf("package %s imports %s; its row in the import table allows only %q", pkg.ImportPath, imported, allowed)
			}
		}
	}
}

func TestNeverCompiled(t *testing.T) {
	t.Parallel()
	rows := parseRows(t, neverCompiled)
	for _, row := range rows {
		if _, found := lookUp(parseRows(t, importTable), row.pkg); !found {
			t.Errorf("%s is not a package of the import table", row.pkg)
		}
	}
	for _, pkg := range listPackages(t) {
		forbidden, _ := lookUp(rows, pkg.ImportPath)
		for _, path := range forbidden {
			below := func(dependency string) bool { return strings.HasPrefix(dependency+"/", path+"/") }
			if i := slices.IndexFunc(pkg.Deps, below); i >= 0 {
				t.Errorf("package %s pulls in %s; find the import that leads there with go list -deps", pkg.ImportPath, pkg.Deps[i])
			}
		}
	}
}

// tableRow is one line of a table.
type tableRow struct {
	pkg   string
	names []string
}

// parseRows reads "package: name name" lines; a line that is indented further continues the row above it.
func parseRows(t *testing.T, table string) []tableRow {
	t.Helper()
	var rows []tableRow
	for line := range strings.Lines(strings.TrimSpace(table)) {
		if strings.HasPrefix(line, "\t\t") {
			last := &rows[len(rows)-1]
			last.names = append(last.names, strings.Fields(line)...)
			continue
		}
		pkg, names, found := strings.Cut(strings.TrimSpace(line), ":")
		if !found {
			t.Fatalf("table row %q has no colon", line)
		}
		rows = append(rows, tableRow{pkg, strings.Fields(names)})
	}
	return rows
}

// lookUp returns the names in the row of a package, and whether there is one.
func lookUp(rows []tableRow, pkg string) (names []string, found bool) {
	for _, row := range rows {
		folder, isFolder := strings.CutSuffix(row.pkg, "...")
		if row.pkg == pkg || isFolder && strings.HasPrefix(pkg, folder) {
			return row.names, true
		}
	}
	return nil, false
}

// isAbove tells whether the first of two packages has the earlier row.
func isAbove(rows []tableRow, upper, lower string) bool {
	position := func(pkg string) int {
		return slices.IndexFunc(rows, func(row tableRow) bool { return row.pkg == pkg })
	}
	return position(upper) >= 0 && position(upper) < position(lower)
}

// listPackages asks the go command for every package of the module.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	tree(t) // so that a change of any package runs the test again
	module := goList(t, "-m") + "/"
	decoder := json.NewDecoder(strings.NewReader(goList(t, "-json=ImportPath,Imports,Deps", "./...")))
	var packages []goPackage
	for {
		var pkg goPackage
		err := decoder.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		packages = append(packages, goPackage{
			ImportPath: strings.TrimPrefix(pkg.ImportPath, module),
			Imports:    shorten(ours(pkg.Imports, module), module),
			Deps:       shorten(pkg.Deps, module),
		})
	}
}

// ours keeps the packages of the module.
func ours(paths []string, module string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return !strings.HasPrefix(path, module) })
}

// shorten takes the module's path off its packages.
func shorten(paths []string, module string) []string {
	for i, path := range paths {
		paths[i] = strings.TrimPrefix(path, module)
	}
	return paths
}

// goList runs go list in the root of the module.
func goList(t *testing.T, arguments ...string) string {
	t.Helper()
	output, err := goCommand(t, root, append([]string{"list"}, arguments...)...)
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, output)
	}
	return output
}
