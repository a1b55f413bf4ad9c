// Package mocks has gomock mocks of the interfaces that a test may want to replace: those of the examples' services,
// of what is below them, and of bus.
//
// A mock stands in for whatever it mocks. Without a bus, in place of a client:
//
//	controller := gomock.NewController(t)
//	calculator := mocks.NewMockCalculator(controller)
//	calculator.EXPECT().Add(gomock.Any(), 5, 6).Return(11, nil)
//	checkout := checkoutsvc.New(products, calculator)
//
// Or served on the bus of a test, so that the code that is tested makes real calls:
//
//	b := bustest.New(t)
//	controller := gomock.NewController(bustest.Reporter(t))
//	calculator := mocks.NewMockCalculator(controller)
//	calculator.EXPECT().Add(gomock.Any(), 5, 6).Return(11, nil)
//	err := bus.Serve[calculatorapi.Calculator](b.Connect(calculatorapi.Host), calculator)
//
// The type parameter matters: a mock has more methods than the interface, and no names for its results. A call that a
// mock does not expect ends the goroutine of the handler, which no mock has started: with [bustest.Reporter] as the
// test that the controller reports to, the test fails at once and the caller gets 500.
//
// The tests of examples/checkout/checkoutsvc show both ways, and the third, without mocks.
//
// To have mocks of your own interfaces, copy the lines below. They are for github.com/golang/mock, which is no longer
// developed and works; with its successor, go.uber.org/mock, it is another import path and nothing else, see the module
// in the folder successor.
//
// [bustest.Reporter]: https://pkg.go.dev/github.com/busline/busline/bus/bustest#Reporter
package mocks

//go:generate go tool mockgen -source ../bus/options.go -destination broker.go -package mocks -write_package_comment=false
//go:generate go tool mockgen -source ../examples/calculator/calculatorapi/calculator.go -destination calculator.go -package mocks -write_package_comment=false
//go:generate go tool mockgen -source ../examples/checkout/checkoutapi/checkout.go -destination checkout.go -package mocks -write_package_comment=false
//go:generate go tool mockgen -source ../examples/payroll/payrollapi/payroll.go -destination payroll.go -package mocks -write_package_comment=false
//go:generate go tool mockgen -source ../examples/products/productapi/products.go -destination products.go -package mocks -write_package_comment=false
//go:generate go tool mockgen -source ../examples/products/productsvc/store.go -destination store.go -package mocks -write_package_comment=false
//go:generate go tool mockgen -source ../examples/trouble/troubleapi/trouble.go -destination trouble.go -package mocks -write_package_comment=false
