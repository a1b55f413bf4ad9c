// Package openapi describes endpoints in OpenAPI 3.0.0.
//
//	Build     the public endpoints of one host on one port → Document
//	Merge     the documents of many hosts                  → one Document
//	Filter    the part of a Document that one caller may see
//	Parse     a document that came over the bus            → Document, or an error
//
// The paths of a document start with host and port, as in a URL of the ingress, so that
// documents can be merged:
//
//	/calculator.example:443/add:
//	  post:
//	    summary: Add(x int, y int) (sum int)
//	    requestBody: …/schemas/Add_in     one property per argument
//	    responses:
//	      200: …/schemas/Add_out          one property per result, all required
//	      default: …/schemas/Problem
//
// A document does not change once it is made: documents derived from it share its parts.
package openapi
