package restmap_test

import (
	"slices"
	"testing"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		method, httpMethod string
		want               []string // name, place, and whether it is JSON
	}{
		{"Add", "POST", []string{"x body JSON", "y body JSON"}},
		{"Add", "GET", []string{"x query", "y query"}},
		{"Add", "DELETE", []string{"x query", "y query"}},
		{"Lists", "GET", []string{"tags query", "ids query", "days query"}},
		{"Objects", "GET", []string{"p query JSON", "q query JSON", "lines query JSON", "attrs query JSON"}},
		{"Store", "PUT", []string{"id path", "httpRequestBody body JSON", "dry query"}},
		{"File", "POST", []string{"path" + " path", "size body JSON"}},
	}
	for _, test := range tests {
		var got []string
		for _, argument := range endpoint(t, test.method).Arguments(test.httpMethod) {
			text := argument.Name + " " + argument.In
			if argument.JSON {
				text += " JSON"
			}
			got = append(got, text)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("Arguments of %s with %s are %q, want %q", test.method, test.httpMethod, got, test.want)
		}
	}
}

func TestArguments_OfAHandler(t *testing.T) {
	t.Parallel()
	if got := mustHandler(t, "GET", "/{a}").Arguments("GET"); got != nil {
		t.Errorf("Arguments of a handler are %v, want none", got)
	}
}
