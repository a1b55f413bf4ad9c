// Package template has the files of a service, from which busline new service makes others. The service is complete,
// and tested like any other: greeterapi is what callers import, greetersvc implements it, main.go puts it on the bus.
package template

import "embed"

// Files are those of the service greeter.
//
//go:embed greeter
var Files embed.FS
