package main

import (
	"embed"
	"reflect"

	"example.com/program/api"
	"github.com/busline/busline/reflectapi"
)

//go:embed *.go
var source embed.FS

// sources hands over the source of the services and of the interfaces.
func (service) sources() []reflectapi.Option {
	return []reflectapi.Option{reflectapi.SourceFS(source), reflectapi.SourceFS(api.Source)}
}

// services lists what is described. The names given in code are those that the source has.
func services() []service {
	calculator := map[string][2]string{"Add": {"x, y", "sum"}, "Sum": {"start, more", "result"}, "Count": {"from", "result"}}
	store := map[string][2]string{"Put": {"key, value", "old"}, "Get": {"key", "value, found"}, "Watch": {"prefix", "changes"}}
	unnamed := map[string][2]string{"Args": {"x, y", "ok"}, "Blank": {"x, y", "ok"}, "Pair": {"", "a, b"}}
	greeter := map[string][2]string{"Greet": {"name, times", "greeting"}, "Shout": {"words", "loudness"}}
	greeterType, tellerType := reflect.TypeFor[api.Greeter](), reflect.TypeFor[api.Teller]()
	return []service{
		{name: "Calculator", impl: Calculator{}, names: calculator},
		{name: "*Calculator", impl: &Calculator{}, names: calculator},
		{name: "*Store", impl: &Store[string, int]{}, names: store},
		{name: "*Outer", impl: &Outer{}, names: map[string][2]string{
			"Add": calculator["Add"], "Sum": calculator["Sum"], "Count": calculator["Count"], "Put": store["Put"], "Get": store["Get"], "Watch": store["Watch"],
		}},
		{name: "Twin", impl: Twin{}, names: map[string][2]string{"Same": {"other", "equal"}}},
		{name: "*Slow", impl: &Slow{}, names: map[string][2]string{"Walk": {"steps", "done, last"}, "Run": {"steps", "done"}}},
		{name: "Unnamed", impl: Unnamed{}, names: unnamed},
		{name: "Greeter/Friend", iface: greeterType, impl: Friend{}, names: greeter},
		{name: "Greeter/Mock", iface: greeterType, impl: &Mock{}, names: greeter},
		{name: "Teller/Friend", iface: tellerType, impl: Friend{}, table: true},
		{name: "Teller/Mock", iface: tellerType, impl: &Mock{}, table: true},
	}
}
