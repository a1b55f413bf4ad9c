// Package successor has mocks made by go.uber.org/mock, the successor of github.com/golang/mock. Its test serves one on
// a test's bus, as the package mocks describes: only the import path differs.
//
// It is a separate module, so that the main module depends on only one of the two.
package successor

//go:generate go tool mockgen -source ../../examples/calculator/calculatorapi/calculator.go -destination calculator.go -package successor -write_package_comment=false
