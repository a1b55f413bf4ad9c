package bus

import "github.com/busline/busline/reflectapi"

// CheckNames reports what callers would miss in production, in a binary that is trimmed, stripped and far from its
// source: names of arguments and results that are known only from the source on this machine or from debug data, doc
// comments that would be lost, and a signature table or embedded source that is out of date. It takes what [Serve]
// takes, registers nothing, and returns nil when all is well, else one error that names every fault and its remedy. It
// is meant for tests: see CheckNames of bus/bustest.
func CheckNames[T any](impl T, options ...ServeOption) error {
	config := newServiceConfig(options)
	if config.fault != nil {
		return config.fault
	}
	return reflectapi.CheckNames(interfaceOf[T](), impl, config.describe...)
}
