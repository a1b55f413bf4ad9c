// Package asyncapi describes events in AsyncAPI 3.0.0.
//
//	Build   the events that one host publishes and subscribes to → Document
//	Merge   the documents of many hosts                          → one Document
//	Parse   a document that came over the bus                    → Document, or an error
//
// A channel is an event of a publisher, and an operation is what a host does with it:
//
//	channels:
//	  orders.example/on-ordered:
//	    address: bus.e.example.orders.on-ordered.{partition}
//	    messages:
//	      OnOrdered: …/schemas/OnOrdered_in      one property per argument
//	operations:
//	  mailer.example_receive_orders.example_on-ordered:
//	    action: receive
//	    channel: orders.example/on-ordered
//
// Schemas have the names of package openapi, in the notation of JSON Schema Draft 07.
//
// A document does not change once it is made: documents derived from it share its parts.
package asyncapi
