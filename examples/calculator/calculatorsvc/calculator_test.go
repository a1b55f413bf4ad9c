package calculatorsvc_test

import (
	"strings"
	"testing"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/internal/exampletest"
)

// start puts a calculator on a bus of its own.
func start(t *testing.T) *exampletest.Service {
	t.Helper()
	b := bustest.New(t)
	if err := calculatorsvc.Serve(b.Connect(calculatorapi.Host)); err != nil {
		t.Fatal(err)
	}
	return exampletest.Open(t, b.Connect("caller.example"), "https://"+calculatorapi.Host)
}

func TestCalculator(t *testing.T) {
	t.Parallel()
	calculator := start(t)
	calculator.Check("POST /add", `{"x":5,"y":6}`, 200, `{"sum":11}`)
	calculator.Check("POST /add", `{"x":-5}`, 200, `{"sum":-5}`)
	calculator.Check("POST /add", `{"x":"five"}`, 400, "x")
	calculator.Check("POST /add", `{"x":9223372036854775808}`, 400, "x")
	calculator.Check("POST /arithmetic", `{"x":7,"op":"+","y":2}`, 200, `{"result":9}`)
	calculator.Check("POST /arithmetic", `{"x":7,"op":"-","y":2}`, 200, `{"result":5}`)
	calculator.Check("POST /arithmetic", `{"x":7,"op":"*","y":2}`, 200, `{"result":14}`)
	calculator.Check("POST /arithmetic", `{"x":7,"op":"/","y":2}`, 200, `{"result":3}`)
	calculator.Check("POST /arithmetic", `{"x":7,"op":"/","y":0}`, 400, "7 cannot be divided by zero")
	calculator.Check("POST /arithmetic", `{"x":7,"op":"%","y":2}`, 400, `unknown operator "%": use + - * /`)
	calculator.Check("POST /distance", `{"p1":{"x":1,"y":1},"p2":{"x":4,"y":5}}`, 200, `{"d":5}`)
	calculator.Check("POST /distance", `{"p1":{"x":-1.5e308},"p2":{"x":1.5e308}}`, 422, "further apart")
	calculator.Check("POST /distance", `{"p1":7}`, 400, "p1")
}

func TestCalculatorInAURL(t *testing.T) {
	t.Parallel()
	calculator := start(t)
	for path, want := range map[string]string{
		"/add?x=5&y=6":                    `{"sum":11}`,
		"/arithmetic?x=5&op=*&y=6":        `{"result":30}`,
		"/arithmetic?x=5&op=%2B&y=6":      `{"result":11}`,
		`/distance?p1={"x":3}&p2={"y":4}`: `{"d":5}`,
		`/distance?p1.x=3&p2.y=4`:         `{"d":5}`,
	} {
		if response, body := calculator.Send("GET", path, ""); response.StatusCode != 200 || body != want {
			t.Errorf("GET %s: %d %s, want %s", path, response.StatusCode, body, want)
		}
	}
	if _, body := calculator.Send("GET", "/arithmetic?x=5&op=+&y=6", ""); !strings.Contains(body, "%2B") {
		t.Errorf("a plus that a URL makes a blank: %s, want a hint", body)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	bustest.CheckNames[calculatorapi.Calculator](t, calculatorsvc.Calculator{})
}

func TestAPI(t *testing.T) {
	t.Parallel()
	bustest.LockAPI[calculatorapi.Calculator](t, "testdata/calculator.api.json", calculatorsvc.Calculator{})
}
