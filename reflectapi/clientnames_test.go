package reflectapi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/reflectapi"
)

// stock has generated clients, and so have its subscribers.
type (
	stock interface {
		Reserve(item string, quantity int) (total int, err error)
		Restock(item string) error
	}
	stockEvents interface{ OnSold(item string) error }
)

var (
	_ = reflectapi.Register[stock](`type stock interface {
		Reserve(item string, quantity int) (total int, err error)
		Restock(item string) error
	}`)
	_ = reflectapi.Register[stockEvents](`type stockEvents interface{ OnSold(item string) error }`)
)

// depot implements it, and calls some things otherwise.
type depot struct{}

func (depot) Reserve(string, int) (int, error) { return 0, nil }
func (depot) Restock(string) error             { return nil }
func (depot) OnSold(string) error              { return nil }

// TestNames_OfClients describes a service without the interface for which it has clients.
func TestNames_OfClients(t *testing.T) {
	t.Parallel()
	reserve := func(arguments, results string) reflectapi.Option {
		return reflectapi.ParamNames("Reserve", arguments, results)
	}
	restock, noEvents := reflectapi.ParamNames("Restock", "item", ""), reflectapi.ExcludeMethods("OnSold")
	for _, test := range []struct {
		name    string
		options []reflectapi.Option
		want    []string
	}{
		{"the same", []reflectapi.Option{reserve("item, quantity", "total"), restock, noEvents}, nil},
		{"another result", []reflectapi.Option{reserve("item, quantity", "sum"), restock, noEvents},
			[]string{"method Reserve", "(sum int)", "(total int)", "[reflectapi_test.stock]"}},
		{"other arguments", []reflectapi.Option{reserve("sku, n", "total"), restock, noEvents},
			[]string{"Reserve(sku string, n int)", "Reserve(item string, quantity int)", "gets lost"}},
		{"several", []reflectapi.Option{reserve("n, item", "total"), reflectapi.ParamNames("Restock", "sku", ""), noEvents},
			[]string{"method Reserve", "method Restock"}},
		{"another interface", []reflectapi.Option{reflectapi.ExcludeMethods("Reserve", "Restock"),
			reflectapi.ParamNames("OnSold", "sku", "")}, []string{"method OnSold", "[reflectapi_test.stockEvents]"}},
		{"more than it", []reflectapi.Option{reserve("sku, n", "total"), restock,
			reflectapi.ParamNames("OnSold", "item", "")}, nil},
		{"less than it", []reflectapi.Option{reserve("sku, n", "total"), reflectapi.ExcludeMethods("Restock", "OnSold")},
			nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := reflectapi.Describe(depot{}, test.options...)
			if (err == nil) != (test.want == nil) {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}

// TestNames_OnlyInTheInterface forgets the interface that names what the implementation does not.
func TestNames_OnlyInTheInterface(t *testing.T) {
	t.Parallel()
	_, err := reflectapi.Describe(depot{}, reflectapi.ParamNames("OnSold", "item", ""))
	if want := "reflectapi_test.depot implements reflectapi_test.stock, which has the names: give the interface as the " +
		"type parameter, [reflectapi_test.stock]"; errorText(err) != want {
		t.Error(err)
	}
}

// doors has a route that its clients call.
type doors interface{ Shut(id int) error }

var _ = reflectapi.Register[doors](`type doors interface {
	//busline:route POST /doors/{id}/shut
	Shut(id int) error
}`)

type door struct{}

func (door) Shut(int) error { return nil }

// TestClientNames_Routes describes a service without the interface that declares its route.
func TestClientNames_Routes(t *testing.T) {
	t.Parallel()
	_, err := reflectapi.Describe(door{}, reflectapi.ParamNames("Shut", "id", ""))
	want := "method Shut has //busline:route POST /doors/{id}/shut for the clients of reflectapi_test.doors: " +
		"give the interface"
	assert.ErrorContains(t, err, want)
}

// TestNames_GivenBesideAnInterface has the names in code count, and says that clients use others.
func TestNames_GivenBesideAnInterface(t *testing.T) {
	t.Parallel()
	service := describeAs[stock](t, depot{}, reflectapi.ParamNames("Reserve", "sku, n", "total"))
	warning := strings.Join(service.Warnings, " ")
	assert.Equal(t, "sku", service.Methods[0].Args[0].Name)
	assert.Contains(t, warning, "method Reserve is Reserve(sku string, n int)")
	assert.Contains(t, warning, "leave out bus.ParamNames")
}

// TestNames_OfTheInterface has the names of the interface count, whatever the implementation says.
func TestNames_OfTheInterface(t *testing.T) {
	t.Parallel()
	if got := describeAs[stock](t,
		depot{}).Methods[0].Signature(); got != "Reserve(item string, quantity int) (total int)" {
		t.Error(got)
	}
}
