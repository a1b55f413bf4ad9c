package reflectapi_test

import (
	"context"
	"embed"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/testdata/greeting"
)

//go:embed checknames_test.go
var books embed.FS

//go:embed naming_test.go
var naming embed.FS

var (
	_ = reflectapi.Register[bookkeeper](`
// bookkeeper keeps books.
type bookkeeper interface {
	// Post writes down an amount.
	Post(ctx context.Context, account string, amount int) (balance int, err error)
	// Close ends a year.
	Close(ctx context.Context, year int) error
	Page(w http.ResponseWriter, r *http.Request)
}
`)
	_ = reflectapi.Register[cashier](`
// cashier took money.
type cashier interface {
	// Take takes money.
	Take(sum int, in string) (rest int, err error)
	// Give gave money.
	Give(amounts []interface{}, to Place) (err error)
	Rest(a byte) (b map[string]any)
}
`)
)

var _ = reflectapi.Register[library]("type library interface{ Lay(what string) (where int) }")

type library interface{ shelf[string] }

type librarian struct{}

func (librarian) Lay(string) int { return 0 }

// bookkeeper keeps books.
type bookkeeper interface {
	// Post writes down an amount.
	Post(_ context.Context, account string, amount int) (balance int, _ error)
	// Close ends a year.
	Close(c context.Context, year int) error
	Page(http.ResponseWriter, *http.Request)
}

// cashier takes money.
type cashier interface {
	// Take takes money.
	Take(amount int, _ string) (change int, err error)
	// Give gives money.
	Give(amounts []any, to Point) (err error)
	Rest(a uint8) (b map[string]interface{}) //nolint:revive,modernize // written in another way than in the table
}

// Clerk is both.
type Clerk struct{}

// Post is not part of the service.
func (Clerk) Post(_ context.Context, _ string, amount int) (int, error) { return amount, nil }

// Close is not part of the service either.
func (Clerk) Close(context.Context, int) error { return nil }

// Page has a comment of its own.
func (Clerk) Page(http.ResponseWriter, *http.Request) {}

// Take takes.
func (Clerk) Take(amount int, currency string) (change int, err error) { return 0, nil }

// Give gives.
func (Clerk) Give(amounts []any, to Point) (err error) { return nil }

// Rest rests.
func (Clerk) Rest(a uint8) (b map[string]any) { return nil }

// onlyNames names what Friend needs names for.
func onlyNames(options ...reflectapi.Option) []reflectapi.Option {
	return append(options, reflectapi.ParamNames("Greet", "name, times", "greeting"),
		reflectapi.ParamNames("Leave", "place", "farewell"))
}

func TestCheckNames(t *testing.T) {
	t.Parallel()
	const (
		gone  = "comes from the source file, which production may not have: "
		embed = "embed the source with bus.SourceFS"

		noNames = "without source files and debug information, as in production, it has no names: "
	)
	greeter := reflect.TypeFor[greeting.Greeter]()
	without := reflectapi.ExcludeMethods("Other")
	for _, test := range []struct {
		name    string
		iface   reflect.Type
		impl    any
		options []reflectapi.Option
		want    []string
	}{
		{"embedded source", nil, &Calculator{}, []reflectapi.Option{reflectapi.SourceFS(services)}, nil},
		{"nothing", nil, greeting.Host{}, nil, []string{
			"type Host: its doc comment " + gone + embed,
			"method Greet: " + noNames + embed + `, or give them with bus.ParamNames("Greet", …)`,
			"method Leave: " + noNames + embed + `, or give them with bus.ParamNames("Leave", …)`,
		}},
		{"names in code", nil, Friend{}, onlyNames(without), []string{
			"type Friend: its doc comment " + gone + embed,
			"method Greet: its doc comment " + gone + embed,
			"method Leave: its doc comment " + gone + embed,
		}},
		{"portable already", nil, Friend{}, onlyNames(without, reflectapi.RequirePortableNames()), nil},
		{"a table", reflect.TypeFor[bookkeeper](), Clerk{}, []reflectapi.Option{reflectapi.SourceFS(books)}, nil},
		{"a table with a type for a type parameter", reflect.TypeFor[library](), librarian{}, nil, nil},
		{"a comment beside the table", reflect.TypeFor[bookkeeper](), Clerk{}, nil, []string{
			"method Page: its doc comment " + gone + "write it in bookkeeper and run go generate, or " + embed,
		}},
		{"a table out of date", reflect.TypeFor[cashier](), Clerk{},
			[]reflectapi.Option{reflectapi.SourceFS(books)}, []string{
				"type cashier: the signature table has a different comment than the source file: run go generate",
				"method Give: the signature table gives argument to a different type than the source file: run go generate",
				"method Give: the signature table has a different comment than the source file: run go generate",
				"method Take: the signature table calls argument 1 sum, the source file calls it amount: run go generate",
				"method Take: the signature table calls argument 2 in, the source file calls it _: run go generate",
				"method Take: the signature table calls result 1 rest, the source file calls it change: run go generate",
			}},
		{"embedded source out of date", nil, &Calculator{}, []reflectapi.Option{reflectapi.SourceFS(edited(t,
			"x, y int) (sum int", "a, y int) (sum int", "Distance measures", "Distance guesses", "does sums",
			"does more"))}, []string{
			"type Calculator: the embedded source has a different comment than the source file: embed the current file",
			"method Add: the embedded source calls argument 1 a, the source file calls it x: embed the current file",
			"method Distance: the embedded source has a different comment than the source file: embed the current file",
		}},
		{"an interface without a table", greeter, Friend{}, []reflectapi.Option{reflectapi.SourceFS(naming)}, []string{
			"type Greeter: its doc comment comes from the source file, but in production from the embedded source, " +
				"which has another: write a signature table with apigen -type Greeter, or " + embed,
			"method Greet: " + noNames + "write a signature table with apigen -type Greeter, " + embed +
				`, or give them with bus.ParamNames("Greet", …)`,
			"method Leave: " + noNames + "write a signature table with apigen -type Greeter, " + embed +
				`, or give them with bus.ParamNames("Leave", …)`,
		}},
		{"its names in code", greeter, Friend{}, onlyNames(reflectapi.SourceFS(naming)), []string{
			"type Greeter: its doc comment comes from the source file, but in production from the embedded source, " +
				"which has another: write a signature table with apigen -type Greeter, or " + embed,
			"method Greet: its doc comment comes from the source file, but in production from the embedded source, " +
				"which has another: write a signature table with apigen -type Greeter, or " + embed,
			"method Leave: its doc comment comes from the source file, but in production from the embedded source, " +
				"which has another: write a signature table with apigen -type Greeter, or " + embed,
		}},
		{"named by the implementation alone", reflect.TypeFor[greeting.Leaver](), Friend{},
			[]reflectapi.Option{reflectapi.SourceFS(os.DirFS("testdata/greeting"))}, []string{
				"method Leave: without source files and debug information, as in production, argument 1 is unnamed in " +
					"greeting.go:15:" +
					` name it, as in (a string), or give them with bus.ParamNames("Leave", …)`,
			}},
		{"nil", greeter, nil, nil, []string{"the service is nil: pass a value"}},
		{"no interface", reflect.TypeFor[Clerk](), Clerk{}, nil, []string{"reflectapi_test.Clerk is not an interface"}},
		{"not implemented", greeter, Clerk{}, nil, []string{"reflectapi_test.Clerk does not implement greeting.Greeter"}},
		{"not to be served", nil, Friend{}, onlyNames(), []string{
			`method Other: argument c cannot be encoded as JSON: it is of type chan int; change it, or leave it out with bus.ExcludeMethods("Other")`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := reflectapi.CheckNames(test.iface, test.impl, test.options...); err != nil {
				got = err.Error()
			}
			if want := strings.Join(test.want, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// What CheckNames says of copies that are out of date, Describe only warns of.
func TestWarnings(t *testing.T) {
	t.Parallel()
	if warnings := describeAs[bookkeeper](t, Clerk{}, reflectapi.SourceFS(books)).Warnings; warnings != nil {
		t.Errorf("warnings for nothing: %q", warnings)
	}
	if warnings := describeAs[cashier](t, Clerk{}, reflectapi.SourceFS(books),
		reflectapi.RequirePortableNames()).Warnings; warnings != nil {
		t.Errorf("warnings without source: %q", warnings)
	}
	want := []string{
		"type cashier: the signature table has a different comment than the source file: run go generate",
		"method Give: the signature table gives argument to a different type than the source file: run go generate",
		"method Give: the signature table has a different comment than the source file: run go generate",
		"method Take: the signature table calls argument 1 sum, the source file calls it amount: run go generate",
		"method Take: the signature table calls argument 2 in, the source file calls it _: run go generate",
		"method Take: the signature table calls result 1 rest, the source file calls it change: run go generate",
	}
	if got := describeAs[cashier](t, Clerk{}).Warnings; !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	got := describe(t, &Calculator{}, reflectapi.SourceFS(edited(t, "x, y int) (sum int", "a, y int) (sum int"))).Warnings
	if want := []string{"method Add: the embedded source calls argument 1 a, the source file calls it x: " +
		"embed the current file"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
