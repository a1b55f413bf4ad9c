package bus_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/busline/busline/bus"
)

func loadDocument(t *testing.T, conn *bus.Conn, url string) *openapi3.T {
	t.Helper()
	response, body := do(t, conn, "GET", url, "", "")
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s: %d %s", url, response.StatusCode, body)
	}
	document, err := openapi3.NewLoader().LoadFromData([]byte(body))
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return document
}

func TestDocument_ShowsWhatIsPublic(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect(calculatorHost, bus.WithVersion("7"), bus.WithBaseURL("https://door.example/"))
		serve(t, conn, calculator{}, bus.Method("Panic", bus.Undocumented()), bus.Method("Exit", bus.Port(444)))
		document := loadDocument(t, conn, calculatorURL+"/openapi.json")
		if document.OpenAPI != "3.0.0" || document.Info.Title != calculatorHost || document.Info.Version != "7" {
			t.Errorf("head: %s %+v", document.OpenAPI, document.Info)
		}
		if got := document.Servers[0].URL; got != "https://door.example" {
			t.Errorf("server %s", got)
		}
		add := document.Paths.Value("/calculator.example:443/add")
		if add == nil || add.Post == nil || add.Post.Summary != "Add(x int, y int) (sum int)" || !strings.Contains(add.Post.Description, "the sum of x and y") {
			t.Errorf("Add is %+v", add)
		}
		for _, path := range []string{"/calculator.example:443/panic", "/calculator.example:443/exit", "/calculator.example:443/openapi.json"} {
			if document.Paths.Value(path) != nil {
				t.Errorf("%s is shown", path)
			}
		}
		internal := loadDocument(t, conn, calculatorURL+":444/openapi.json")
		if internal.Paths.Value("/calculator.example:444/exit") == nil {
			t.Errorf("Exit is not shown on its port: %v", internal.Paths.Map())
		}
		// what is registered later is shown too
		if err := conn.Handle("GET", "/files/{path+}", http.NotFoundHandler(), bus.Description("All files.")); err != nil {
			t.Fatal(err)
		}
		document = loadDocument(t, conn, calculatorURL+"/openapi.json")
		files := document.Paths.Value("/calculator.example:443/files/{path}")
		if files == nil || files.Get == nil || files.Get.Description != "All files." {
			t.Errorf("the handler is %+v", files)
		}
	})
}

func TestDocument_NamesTheAddressItWasReachedAt(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect(calculatorHost)
		serve(t, conn, calculator{})
		if got := loadDocument(t, conn, calculatorURL+"/openapi.json").Servers[0].URL; got != "http://127.0.0.1:8080" {
			t.Errorf("without a base URL: %s", got)
		}
		request := mustRequest(t, calculatorURL+"/openapi.json")
		for name, value := range map[string]string{"Host": "api.example:8443", "Proto": "https", "Prefix": "/bus"} {
			request.Header.Set("X-Forwarded-"+name, value)
		}
		response, err := conn.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		document, err := openapi3.NewLoader().LoadFromIoReader(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got := document.Servers[0].URL; got != "https://api.example:8443/bus" {
			t.Errorf("behind an ingress: %s", got)
		}
	})
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		caller, callee := newCalculator(t, w)
		ids := publish(t, caller, "https://all:888/ping")
		if len(ids) != 2 {
			t.Errorf("ping answered by %v", ids)
		}
		_, body := do(t, caller, "GET", "https://calculator.example:888/ping", "", "")
		if want := `{"host":"calculator.example","id":"` + callee.ID() + `","version":"","ports":[443]}`; body != want {
			t.Errorf("ping: %s, want %s", body, want)
		}
		_, body = do(t, caller, "GET", "https://calculator.example:888/allow?port=443&path=/add", "", "")
		if body != `{"methods":["GET","HEAD","POST"]}` {
			t.Errorf("allow: %s", body)
		}
		for _, path := range []string{"/nothing", "/metrics"} { // the latter is not asked of all
			err := caller.Call(t.Context(), "GET https://all:888"+path, nil, nil)
			if failed, _ := errors.AsType[*bus.Error](err); failed == nil || failed.Status != 404 || failed.Executed != bus.ExecutedNo {
				t.Errorf("all:888%s: %v", path, err)
			}
			if ids := publish(t, caller, "https://all:888"+path); len(ids) != 2 {
				t.Errorf("all:888%s is answered by %v", path, ids)
			}
		}
	})
}
