// Package openapi describes endpoints in OpenAPI 3.0.0.
//
//	Build     the public endpoints of one host on one port → Document
//	Merge     the documents of many hosts                  → one Document
//	Filter    what one caller may see of a Document
//	Parse     a document that came over the bus            → Document, or why not
//
// The paths of a document have host and port in front, as in a URL behind the ingress, so
// that documents can be merged:
//
//	/calculator.example:443/add:
//	  post:
//	    summary: Add(x int, y int) (sum int)
//	    requestBody: …/schemas/Add_in     one property per argument
//	    responses:
//	      200: …/schemas/Add_out          one property per result
//	      default: …/schemas/Problem
//
// A document is not changed once it is made: those that come of it share its parts.
package openapi
