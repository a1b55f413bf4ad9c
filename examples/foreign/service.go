package main

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
)

// endpoints are what this service serves: its own, and those that make it be found.
func (i *instance) endpoints() []endpoint {
	return []endpoint{
		{port: "443", path: "/greet", queue: host, serve: greet},
		{port: "443", path: "/verses", queue: host, lines: verses},
		{port: "443", path: "/confide", queue: host, serve: greet, callers: []string{"caller.example"}},
		{port: "443", path: "/openapi.json", queue: host, serve: document},
		{port: "888", path: "/allow", queue: host, serve: i.allow},
		{port: "888", path: "/ping", serve: i.ping},
	}
}

func greet(r *request) answer {
	return answer{
		status: http.StatusOK,
		body:   []byte("Hello, " + r.url.Query().Get("name") + "!\n"),
		fields: []field{{"Content-Type", "text/plain; charset=utf-8"}},
	}
}

// verses streams as many verses as are asked for.
func verses(r *request) iter.Seq[string] {
	many, _ := strconv.Atoi(r.url.Query().Get("many"))
	return func(yield func(string) bool) {
		for verse := range many {
			if !yield(fmt.Sprintf("verse %d\n", verse+1)) {
				return
			}
		}
	}
}

// document describes the service to the portal.
func document(*request) answer { return inJSON(http.StatusOK, json.RawMessage(openAPI)) }

const openAPI = `{
  "openapi": "3.0.0",
  "info": {"title": "foreign.example", "description": "Written without Busline.", "version": "1"},
  "servers": [{"url": "http://127.0.0.1:8080"}],
  "paths": {
    "/foreign.example:443/greet": {
      "get": {
        "summary": "GET /greet",
        "description": "Greets a person by name.",
        "operationId": "greet",
        "tags": ["foreign.example"],
        "parameters": [{"name": "name", "in": "query", "schema": {"type": "string"}}],
        "responses": {
          "200": {"description": "OK", "content": {"text/plain": {"schema": {"type": "string"}}}},
          "default": {"description": "Error", "content": {"application/problem+json": {"schema": {"type": "object"}}}}
        }
      }
    },
    "/foreign.example:443/confide": {
      "get": {
        "summary": "GET /confide",
        "description": "Greets a service that proves who it is.",
        "operationId": "confide",
        "tags": ["foreign.example"],
        "x-callers": ["caller.example"],
        "responses": {
          "200": {"description": "OK", "content": {"text/plain": {"schema": {"type": "string"}}}},
          "default": {"description": "Error", "content": {"application/problem+json": {"schema": {"type": "object"}}}}
        }
      }
    },
    "/foreign.example:443/verses": {
      "get": {
        "summary": "GET /verses",
        "description": "Streams as many verses.",
        "operationId": "verses",
        "tags": ["foreign.example"],
        "parameters": [{"name": "many", "in": "query", "schema": {"type": "integer"}}],
        "responses": {
          "200": {"description": "OK", "content": {"text/plain": {"schema": {"type": "string"}}}},
          "default": {"description": "Error", "content": {"application/problem+json": {"schema": {"type": "object"}}}}
        }
      }
    }
  }
}`

// allow returns the methods with which a path is served, for callers without an answer.
func (i *instance) allow(r *request) answer {
	methods := []string{}
	for _, e := range i.endpoints() {
		if e.port == r.url.Query().Get("port") && e.path == r.url.Query().Get("path") {
			methods = []string{"GET", "HEAD"}
		}
	}
	return inJSON(http.StatusOK, map[string]any{"methods": methods})
}

// ping answers that this instance is there, and on which ports there is something to see.
func (i *instance) ping(*request) answer {
	return inJSON(http.StatusOK, map[string]any{"host": host, "id": i.id, "version": "1", "ports": []int{443}})
}

// problem is an error in the form of RFC 9457.
func (i *instance) problem(r *request, status int, detail string) answer {
	answer := inJSON(status, map[string]any{
		"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": detail,
		"instance": r.url.Path, "host": host, "id": i.id, "msgId": r.fields["bus-msg-id"],
	})
	answer.fields = []field{{"Content-Type", "application/problem+json"}}
	return answer
}

func inJSON(status int, value any) answer {
	body, err := json.Marshal(value)
	if err != nil {
		return answer{status: http.StatusInternalServerError}
	}
	return answer{status: status, body: body, fields: []field{{"Content-Type", "application/json"}}}
}
