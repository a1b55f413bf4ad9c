package portal_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal"
)

// driver returns an error whose text is internal.
type driver struct{ why error }

func (d driver) Open() error {
	return fmt.Errorf("dialling postgres://shop:secret@db.internal: %w", d.why)
}

// TestATextWithoutAStatusStaysInside has services fail with the text of some driver. Whatever status the bus makes of it, it
// does not leave through the ingress, not even by way of another service.
func TestATextWithoutAStatusStaysInside(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		why    error
		detail string
	}{
		{504, context.DeadlineExceeded, "something took too long; the reason is in the log of the service, at msgId "},
		{503, context.Canceled, "the reason is in the log of the service, at msgId "},
		{500, io.EOF, "the reason is in the log of the service, at msgId "},
	} {
		door := open(t)
		if err := bus.Serve(door.bus.Connect("driver.example"), driver{test.why}); err != nil {
			t.Fatal(err)
		}
		front := door.bus.Connect("front.example")
		if err := front.Handle("GET", "/open", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bus.WriteError(w, r, fmt.Errorf("opening: %w", front.Call(r.Context(), "GET https://driver.example/open", nil, nil)))
		})); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/driver.example/open", "/front.example/open"} {
			got := door.get(path)
			told := got.problem(t)
			if got.StatusCode != test.status || told.Title != http.StatusText(test.status) || told.Host != "driver.example" || told.MsgID == "" ||
				told.Detail != test.detail+told.MsgID || strings.Contains(got.text, `"internal"`) {
				t.Errorf("%s: %d: %s", path, got.StatusCode, got.text)
			}
		}
	}
}

// TestAFaultOfTheIngressStaysInside has an interceptor of its connection fail.
func TestAFaultOfTheIngressStaysInside(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("ingress", bus.WithInterceptors(func(bus.CallFunc) bus.CallFunc {
		return func(context.Context, *bus.Exchange) error { return driver{context.DeadlineExceeded}.Open() }
	}))
	ingress, err := portal.NewIngress(conn)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	ingress.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/driver.example/open", http.NoBody))
	got := answer{w.Result(), w.Body.String()}
	if told := got.problem(t); told.Status != 504 || told.Host != "ingress" || told.Detail != "something took too long; the reason is in the log" || strings.Contains(got.text, `"internal"`) {
		t.Error(got.text)
	}
}

// TestAPlaceThatIsLeftOutKeepsItsReason has the portal itself fail to fetch a document, with a text that is not for its
// readers.
func TestAPlaceThatIsLeftOutKeepsItsReason(t *testing.T) {
	t.Parallel()
	door := open(t)
	conn := door.bus.Connect("portal", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, x *bus.Exchange) error {
			if x.Side == bus.ClientSide && x.Host == "calculator.example" {
				return driver{io.EOF}.Open()
			}
			return next(ctx, x)
		}
	}))
	if err := portal.Register(conn, patient()...); err != nil {
		t.Fatal(err)
	}
	door.calculate("calculator.example")
	for _, path := range []string{"/portal/openapi.json", "/portal/live.json"} {
		text := door.get(path).text
		if !strings.Contains(text, "calculator.example:443 is left out: the reason is in the log") || strings.Contains(text, "postgres") {
			t.Errorf("%s: %s", path, text)
		}
	}
}
