package main_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/busline/busline/bus/cmd/apigen/testdata/embeds"
	"github.com/busline/busline/reflectapi"
)

// What is wrong with a struct is the same whether apigen reads it or a service has it, in the same words.
func TestStandIn_StructsAreAsServed(t *testing.T) {
	t.Parallel()
	module := newModule(t)
	module.copyPackage(t, "testdata/embeds", "embeds")
	_, complaints := module.run(t, "embeds", "-type", "Embeds", "-client", "none")
	got := make(map[string]string)
	for line := range strings.Lines(complaints) {
		found := regexp.MustCompile(`^apigen: embeds\.go:\d+: (method (\w+): .*)\n$`).FindStringSubmatch(line)
		if found == nil {
			t.Fatalf("complaint: %s", line)
		}
		got[found[2]] = found[1]
	}
	for method := range reflect.TypeFor[embeds.Embeds]().Methods() {
		want := ""
		signature := reflectapi.Signature{Name: method.Name, Func: method.Type, Params: []string{"x"},
			Results: []string{"err"}}
		if _, err := reflectapi.DescribeSignatures("Embeds", "", []reflectapi.Signature{signature}); err != nil {
			want = strings.ReplaceAll(fmt.Sprint(err), "embeds.", "")
		}
		if got[method.Name] != want {
			t.Errorf("%s\napigen: %s\nserved: %s", method.Name, got[method.Name], want)
		}
	}
}
