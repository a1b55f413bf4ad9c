package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/busline/busline/bus"
)

// hostile is a possible name of a service and its operations.
const hostile = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`

// startHostile starts a service with HTML in all its texts and responses.
func (s *stage) startHostile() error {
	conn, err := s.join("hostile.example", bus.WithDescription(hostile))
	if err != nil {
		return err
	}
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "%q", hostile)
	})
	if err := conn.Handle(http.MethodGet, "/x", answer, bus.Undocumented()); err != nil {
		return err
	}
	schema := map[string]any{
		"type": "object", "description": hostile,
		"properties": map[string]any{hostile: map[string]any{"type": "string", "description": hostile,
			"enum": []string{hostile}}},
	}
	document := map[string]any{
		"openapi": "3.0.0",
		"info":    map[string]any{"title": hostile, "description": hostile, "version": hostile},
		"tags":    []any{map[string]any{"name": "hostile.example", "description": hostile}},
		"paths": map[string]any{
			"/hostile.example:443/x": map[string]any{"get": map[string]any{
				"tags": []string{"hostile.example"}, "summary": hostile + "(", "description": hostile, "operationId": "x",
				"parameters": []any{map[string]any{"name": hostile, "in": "query", "schema": schema}},
				"responses": map[string]any{"200": map[string]any{
					"description": hostile, "content": map[string]any{"application/json": map[string]any{"schema": schema}},
				}},
			}},
		},
	}
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return conn.Handle(http.MethodGet, "/openapi.json", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(text)
	}), bus.Undocumented())
}
