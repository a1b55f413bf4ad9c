// Package kit has what the tests of package bus share: buses and worlds over each transport, a service to call, clients
// and instances that are not ours, brokers that refuse, fall silent or go away, logs to read, and checks of errors.
//
// The tests of bus, of bus/events and of the packages below bus/test use it; nothing else does. It sees what any
// program sees, and two packages of bus/internal, so that a test needs export_test.go of bus only for what it looks at
// inside.
package kit
