// Package successor has mocks made by go.uber.org/mock, the successor of github.com/golang/mock. Its test serves one on
// the bus of a test, in the way of the package mocks: only the import path differs.
//
// It is a module of its own, so that only one of the two is among the dependencies of this one.
package successor

//go:generate go tool mockgen -source ../../examples/calculator/calculatorapi/calculator.go -destination calculator.go -package successor -write_package_comment=false
