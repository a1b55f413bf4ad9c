// Package mcp offers the functions of the bus as tools to agents, by the Model Context Protocol
// (https://modelcontextprotocol.io), at a path of the ingress:
//
//	agent ── POST /mcp tools/call payments_pay ──▶ ingress ── bus ── POST https://payments.example:443/pay ──▶ service
//
//	tools, err := mcp.New(door)
//	…
//	handler, err := ingress.New(door, ingress.WithHandler("/mcp", tools))
//
// It asks the portal what the bearer of a token may call, so that each caller has tools of its own, and the service
// decides again on each call. Nothing is kept between requests, so that any instance of an ingress answers.
package mcp
