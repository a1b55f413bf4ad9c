package reflectapi_test

import (
	"strings"
	"testing"

	"github.com/busline/busline/reflectapi"
)

// stock has generated clients, and so have those who hear of it.
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

// TestNamesOfClients describes a service without the interface for which it has clients.
func TestNamesOfClients(t *testing.T) {
	t.Parallel()
	reserve := func(arguments, results string) reflectapi.Option {
		return reflectapi.Names("Reserve", arguments, results)
	}
	restock, sold := reflectapi.Names("Restock", "item", ""), reflectapi.Names("OnSold", "item", "")
	for name, test := range map[string]struct {
		options []reflectapi.Option
		want    []string
	}{
		"the same":        {[]reflectapi.Option{reserve("item, quantity", "total"), restock, sold}, nil},
		"another result":  {[]reflectapi.Option{reserve("item, quantity", "sum"), restock, sold}, []string{"method Reserve", "(sum int)", "(total int)", "[reflectapi_test.stock]"}},
		"other arguments": {[]reflectapi.Option{reserve("sku, n", "total"), restock, sold}, []string{"Reserve(sku string, n int)", "Reserve(item string, quantity int)", "get lost"}},
		"left out":        {[]reflectapi.Option{reflectapi.Without("Reserve"), restock, sold}, nil},
		"several":         {[]reflectapi.Option{reserve("n, item", "total"), reflectapi.Names("Restock", "sku", ""), reflectapi.Names("OnSold", "sku", "")}, []string{"method Reserve", "method Restock", "method OnSold", "[reflectapi_test.stockEvents]"}},
	} {
		t.Run(name, func(t *testing.T) {
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

// TestNamesOfTheInterface has the names of the interface count, whatever the implementation says.
func TestNamesOfTheInterface(t *testing.T) {
	t.Parallel()
	if got := describeAs[stock](t, depot{}).Methods[0].Signature(); got != "Reserve(item string, quantity int) (total int)" {
		t.Error(got)
	}
}
