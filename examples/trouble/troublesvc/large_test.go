package troublesvc_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/trouble/troubleapi"
	"github.com/busline/busline/examples/trouble/troublesvc"
	"github.com/busline/busline/portal/ingress"
)

// TestLargeThroughTheIngress sends more than one message of the broker holds from outside, and more than the ingress
// takes.
func TestLargeThroughTheIngress(t *testing.T) {
	t.Parallel()
	for name, transport := range map[string]bus.ConnectOption{
		"broker": bus.WithoutShortCircuit(), "short circuit": withShortCircuit(true),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bustest.New(t)
			if err := troublesvc.Serve(b.Connect(troubleapi.Host, transport)); err != nil {
				t.Fatal(err)
			}
			handler, err := ingress.New(b.Connect("ingress", transport))
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(handler)
			t.Cleanup(server.Close)
			for size, status := range map[int]int{3 << 20: http.StatusOK, 20 << 20: http.StatusOK,
				33 << 20: http.StatusRequestEntityTooLarge} {
				sent := `"` + strings.Repeat("x", size-2) + `"`
				got, body := post(t, server.URL+"/trouble.example/echo", sent)
				if got != status || (status == http.StatusOK && body != sent) {
					t.Errorf("%d bytes: %d, %d bytes come back", size, got, len(body))
				}
			}
		})
	}
}

func post(t *testing.T, url, body string) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}
