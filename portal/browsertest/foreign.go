package main

import (
	"fmt"
	"net/http"

	"github.com/busline/busline/bus"
)

// foreignDocument describes what the framework describes of no service of its own, and one in another language may.
const foreignDocument = `{"openapi":"3.0.0","info":{"title":"foreign","version":"1"},"paths":{
	"/foreign.example:443/report":{"get":{"summary":"Report()","deprecated":true,"parameters":[
		{"name":"X-Tenant","in":"header","required":true,"description":"Whose report.","deprecated":true,"schema":{"type":"string"}},
		{"name":"Authorization","in":"header","schema":{"type":"string"}},
		{"name":"session","in":"cookie","schema":{"type":"string"}}],
		"responses":{"200":{"description":"OK"}}}},
	"/foreign.example:443/find":{"get":{"summary":"Find(text string)","x-callers":["web.example","*.shop.example"],"requestBody":{"content":{"application/json":{"schema":
		{"type":"object","properties":{"text":{"type":"string"}}}}}},
		"responses":{"200":{"description":"OK"}}}}}}`

// startForeign starts a service that responds with the tenant of the request.
func (s *stage) startForeign() error {
	conn, err := s.join("foreign.example")
	if err != nil {
		return err
	}
	return conn.Handle(http.MethodGet, "/{path+}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi.json" {
			fmt.Fprint(w, foreignDocument)
			return
		}
		fmt.Fprintf(w, "for %q", r.Header.Get("X-Tenant"))
	}), bus.Undocumented())
}
