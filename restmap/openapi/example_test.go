package openapi_test

import (
	"fmt"
	"log"
	"maps"
	"slices"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// Clock is what the example describes.
type Clock struct{}

// Alarm sets the alarm.
func (Clock) Alarm(hour, minute int) (rings string) { return "" }

// A service is described, its methods get routes, and these a document.
func ExampleBuild() {
	described, err := reflectapi.Describe(Clock{})
	if err != nil {
		log.Fatal(err)
	}
	endpoints, err := restmap.Map(described, restmap.Options{})
	if err != nil {
		log.Fatal(err)
	}
	service := openapi.Service{Host: "clock.example", Port: 443, Version: "1"}
	for _, endpoint := range endpoints {
		service.Endpoints = append(service.Endpoints, &openapi.EndpointDoc{Endpoint: endpoint})
	}
	document, err := openapi.Build(service)
	if err != nil {
		log.Fatal(err)
	}
	for path, item := range document.Paths {
		fmt.Println(path, item.Post.Summary)
	}
	fmt.Println(slices.Sorted(maps.Keys(document.Components.Schemas)))
	// Output:
	// /clock.example:443/alarm Alarm(hour int, minute int) (rings string)
	// [Alarm_in Alarm_out ArgumentError Problem]
}
