// Package client has the client that oapi-codegen makes from openapi.json. The test of the folder above writes it for a
// moment, and runs the tests that stand here.
package client

import _ "github.com/oapi-codegen/runtime" // the generated code imports it
