package reflectapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/busline/busline/reflectapi"
)

// Greeter is what the example describes.
type Greeter struct{}

// Greet greets a person by name.
func (Greeter) Greet(_ context.Context, name string) (greeting string, err error) {
	return "Hello, " + name, nil
}

func Example() {
	service, err := reflectapi.Describe(Greeter{})
	if err != nil {
		fmt.Println(err)
		return
	}
	greet := service.Methods[0]
	fmt.Println(greet.Signature())
	fmt.Println(greet.Doc)

	in := reflect.New(greet.In)
	if err := json.Unmarshal([]byte(`{"name":"Ada"}`), in.Interface()); err != nil {
		fmt.Println(err)
		return
	}
	out, err := greet.Call(context.Background(), in.Elem())
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := json.Marshal(out.Interface())
	fmt.Println(string(answer), err)
	// Output:
	// Greet(name string) (greeting string)
	// Greet greets a person by name.
	// {"greeting":"Hello, Ada"} <nil>
}
