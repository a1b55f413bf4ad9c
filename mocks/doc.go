// Package mocks has gomock mocks of the interfaces that a test may want to replace: those of the examples' services,
// and of the product store below one of them.
//
// A test can use a mock without a bus, in place of a client:
//
//	controller := gomock.NewController(t)
//	calculator := mocks.NewMockCalculator(controller)
//	calculator.EXPECT().Add(gomock.Any(), 5, 6).Return(11, nil)
//	checkout := checkoutsvc.New(products, calculator)
//
// Or it can serve the mock on a test's bus, so that the tested code makes real calls:
//
//	b := bustest.New(t)
//	controller := gomock.NewController(bustest.Reporter(t))
//	calculator := mocks.NewMockCalculator(controller)
//	calculator.EXPECT().Add(gomock.Any(), 5, 6).Return(11, nil)
//	err := bus.Serve[calculatorapi.Calculator](b.Connect(calculatorapi.Host), calculator)
//
// The type parameter is necessary: a mock has more methods than the interface, and no names for its results. An
// unexpected call makes the controller end the test's goroutine, but a handler runs on another one. So give the
// controller a [bustest.Reporter] instead of the test: then the test fails at once, and the caller gets 500.
//
// The tests of examples/checkout/checkoutsvc show both ways, and a third one without mocks.
//
// To generate mocks of your own interfaces, copy the go:generate lines of doc.go; docs/guides/testing.md says what your
// module needs for them. They use github.com/golang/mock, which still works but is no longer developed; for its
// successor, go.uber.org/mock, only the import path changes: see the module in the folder successor.
//
// [bustest.Reporter]: https://pkg.go.dev/github.com/busline/busline/bus/bustest#Reporter
package mocks

//go:generate go tool mockgen -source ../examples/calculator/calculatorapi/calculator.go -destination calculator.go -package mocks -write_package_comment=false
//go:generate go tool mockgen -source ../examples/checkout/checkoutapi/checkout.go -destination checkout.go -package mocks -write_package_comment=false
//go:generate go tool mockgen -source ../examples/payments/paymentsapi/payments.go -destination payments.go -package mocks -write_package_comment=false
//go:generate go tool mockgen -source ../examples/payroll/payrollapi/payroll.go -destination payroll.go -package mocks -write_package_comment=false
//go:generate go tool mockgen -source ../examples/products/productapi/products.go -destination products.go -package mocks -write_package_comment=false
//go:generate go tool mockgen -source ../examples/products/productsvc/store.go -destination store.go -package mocks -write_package_comment=false
//go:generate go tool mockgen -source ../examples/trouble/troubleapi/trouble.go -destination trouble.go -package mocks -write_package_comment=false
