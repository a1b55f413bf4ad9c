package tsclient

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/restmap/asyncapi"
	"github.com/busline/busline/restmap/openapi"
)

// defaultPort is the port that names of services leave out.
const defaultPort = 443

// place is one port of a host.
type place struct {
	host string
	port int
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.host, q.host), cmp.Compare(p.port, q.port))
}

// names returns what the place may be called, the shortest first: calculator, calculatorExample; other ports follow.
func (p place) names() (all []string) {
	suffix := ""
	if p.port != defaultPort {
		suffix = strconv.Itoa(p.port)
	}
	labels := strings.Split(p.host, ".")
	for i := range labels {
		all = append(all, lowerCamel(strings.Join(labels[:i+1], "-"))+suffix)
	}
	return all
}

// service is a place, and what is there.
type service struct {
	place

	name, typeName string // calculator, Calculator
	description    string
	operations     []*operation
	events         []*event
}

// prefixes are what components of the service may begin with, in documents of several services.
func (s *service) prefixes() []string {
	return []string{fmt.Sprintf("%s_%d_", s.host, s.port), eventComponents + s.host + "_", eventComponents}
}

// withoutPrefix returns the name of a component, or of an operation, as the service gave it.
func (s *service) withoutPrefix(name string) string {
	for _, prefix := range s.prefixes() {
		if own, found := strings.CutPrefix(name, prefix); found {
			return own
		}
	}
	return name
}

// servicesOf returns the services of both documents, by name.
func (g *generator) servicesOf(api *openapi.Document, events *asyncapi.Document) ([]*service, error) {
	at := make(map[place]*service)
	for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
		where, err := placeOf(path)
		if err != nil {
			return nil, err
		}
		s := serviceAt(at, where)
		for method, described := range api.Paths[path].Operations() {
			s.operations = append(s.operations, &operation{Operation: described, method: method, path: path})
		}
	}
	if events != nil {
		addEvents(at, events)
	}
	services := slices.SortedFunc(maps.Values(at), func(a, b *service) int { return a.compare(b.place) })
	candidates := make([][]string, len(services))
	for i, each := range services {
		candidates[i] = each.names()
	}
	for i, name := range distinct(candidates, names{"then": true}) {
		services[i].name, services[i].typeName = name, g.taken.claim(upperCamel(name))
		services[i].describe(api)
		services[i].nameFunctions()
	}
	return services, nil
}

func serviceAt(at map[place]*service, where place) *service {
	if at[where] == nil {
		at[where] = &service{place: where}
	}
	return at[where]
}

// placeOf returns the place that a path begins with.
func placeOf(path string) (place, error) {
	where, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	host, digits, _ := strings.Cut(where, ":")
	port, err := strconv.Atoi(digits)
	if err != nil || host == "" {
		return place{}, fmt.Errorf("the path %.80q is not that of a service: /<host>:<port>/…", path)
	}
	return place{host, port}, nil
}

// describe takes the description from the tags of a document.
func (s *service) describe(api *openapi.Document) {
	for _, tag := range api.Tags {
		if tag.Name == s.host {
			s.description = tag.Description
		}
	}
}

// nameFunctions gives operations and events names of their own.
func (s *service) nameFunctions() {
	taken := names{"then": true} // a service is no promise
	if len(s.events) > 0 {
		taken["events"] = true
	}
	for _, each := range s.operations {
		id := s.withoutPrefix(each.OperationID)
		if id == "" {
			_, path, _ := strings.Cut(strings.TrimPrefix(each.path, "/"), "/")
			id = each.method + " " + path
		}
		each.id, each.name = id, taken.claim(lowerCamel(id))
	}
	candidates := make([][]string, len(s.events))
	for i, each := range s.events {
		full := lowerCamel(each.event)
		candidates[i] = []string{lowerCamel(strings.TrimPrefix(each.event, "on-")), full}
	}
	for i, name := range distinct(candidates, names{}) {
		s.events[i].name = name
	}
}
