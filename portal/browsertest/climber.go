package main

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/busline/busline/bus"
)

// climberDocument describes paths that lead to another service, once a browser has resolved two dots in them.
const climberDocument = `{"openapi":"3.0.0","info":{"title":"climber","version":"1"},"paths":{
	"/climber.example:443/{a}/{b}/victim.example:443/raise":{"get":{"summary":"Climb(a string, b string)","parameters":[
		{"name":"a","in":"path","required":true,"schema":{"type":"string","default":".."}},
		{"name":"b","in":"path","required":true,"schema":{"type":"string","enum":[".."]}}],
		"responses":{"200":{"description":"OK"}}}},
	"/climber.example:443/step/{a}":{"get":{"summary":"Step(a string)","parameters":[
		{"name":"a","in":"path","required":true,"schema":{"type":"string"}}],
		"responses":{"200":{"description":"OK"}}}}}}`

// victim counts the calls that it gets.
type victim struct{ calls atomic.Int64 }

// Raise raises a salary.
func (v *victim) Raise() { v.calls.Add(1) }

// Raised returns how many salaries were raised.
func (v *victim) Raised() (count int) { return int(v.calls.Load()) }

// startClimber starts a service that leads its callers to another one, and the other one.
func (s *stage) startClimber() error {
	conn, err := s.join("victim.example")
	if err != nil {
		return err
	}
	if err := bus.Serve(conn, new(victim)); err != nil {
		return err
	}
	if conn, err = s.join("climber.example"); err != nil {
		return err
	}
	return conn.Handle(http.MethodGet, "/{path+}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/openapi.json" {
			fmt.Fprint(w, climberDocument)
			return
		}
		fmt.Fprintf(w, "%q", r.Method+" "+r.URL.EscapedPath())
	}), bus.Undocumented())
}
