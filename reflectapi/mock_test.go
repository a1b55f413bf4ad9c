package reflectapi_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/testdata/greeting"
)

// mocked is what a generator of mocks might have written.
type mocked struct{ calls chan int }

// EXPECT is for tests.
func (m *mocked) EXPECT() chan int { return m.calls }

// Greet mocks base method.
func (m *mocked) Greet(arg0 string, arg1 int) (string, error) { return arg0, nil }

// Leave mocks base method.
func (m *mocked) Leave(arg0 string) string { return arg0 }

// Pair mocks base method.
func (m *mocked) Pair(arg0 string) (string, string) { return arg0, arg0 }

// asserted has what another generator embeds.
type asserted struct{ mocked }

// AssertExpectations is for tests.
func (asserted) AssertExpectations(t func()) bool { return true }

// A mock by itself gets one error, whatever is wrong with its methods, and errors of options.
func TestMock_WithoutItsInterface(t *testing.T) {
	t.Parallel()
	const remedy = ": serve it as its interface: bus.Serve[API](conn, mock)"
	for _, test := range []struct {
		name    string
		impl    any
		options []reflectapi.Option
		want    string
	}{
		{"pointer", &mocked{}, nil, "*reflectapi_test.mocked looks like a mock, because it has a method EXPECT" + remedy},
		{"value", mocked{}, nil, "reflectapi_test.mocked looks like a mock, because it has a method EXPECT" + remedy},
		{"options", &mocked{}, []reflectapi.Option{reflectapi.ExcludeMethods("Give")},
			"bus.ExcludeMethods: *reflectapi_test.mocked has no method Give\n" +
				"*reflectapi_test.mocked looks like a mock, because it has a method EXPECT" + remedy},
		{"another kind", &asserted{}, []reflectapi.Option{reflectapi.ExcludeMethods("EXPECT")},
			"*reflectapi_test.asserted looks like a mock, because it has a method AssertExpectations" + remedy},
		{"left out", &mocked{}, []reflectapi.Option{reflectapi.ExcludeMethods("EXPECT")},
			"method Pair: results 1 and 2 are unnamed in mock_test.go:N: " +
				`name them, as in (a string, b string), or give them with bus.ParamNames("Pair", …); serve a mock as its interface: bus.Serve[API](conn, mock)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := reflectapi.Describe(test.impl, test.options...)
			if got := lineNumber.ReplaceAllString(errorText(err), "go:N"); got != test.want {
				t.Errorf("got:  %s\nwant: %s", got, test.want)
			}
		})
	}
}

func TestMock_AsItsInterface(t *testing.T) {
	t.Parallel()
	service, err := reflectapi.DescribeAs(reflect.TypeFor[greeting.Greeter](), &mocked{},
		reflectapi.ParamNames("Leave", "reason", "farewell"))
	require.NoError(t, err)
	wantSignatures(t, service, "Greet(name string, times int) (greeting string)", "Leave(reason string) (farewell string)")
}

// expectant is no mock, though a method of it is called like one of theirs.
type expectant struct{}

// EXPECT can be served.
func (expectant) EXPECT(name string) (weight int) { return 0 }

func TestNoMock(t *testing.T) {
	t.Parallel()
	wantSignatures(t, describe(t, expectant{}), "EXPECT(name string) (weight int)")
}
