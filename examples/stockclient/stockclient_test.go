package stockclient_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/busline/busline/examples/stockclient/internal/servicestest"
)

// TestClient makes a client from openapi.json, and runs the tests of package client with it: go sees the generated file
// in that package, though it is elsewhere.
func TestClient(t *testing.T) {
	t.Parallel()
	for _, read := range []string{"openapi.json", "oapi-codegen.yaml", "client/client_test.go"} {
		if _, err := os.Stat(read); err != nil { // a file that the test looks at ends its cached result when it changes
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	code, overlay := filepath.Join(folder, "client_gen.go"), filepath.Join(folder, "overlay.json")
	run(t, "tool", "oapi-codegen", "-config", "oapi-codegen.yaml", "-o", code, "openapi.json")
	seen, err := filepath.Abs(filepath.Join("client", "client_gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{seen: code}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "test", "-count=1", "-tags", "generated", "-overlay", overlay, "./client")
}

// run runs the go command.
func run(t *testing.T, arguments ...string) {
	t.Helper()
	if output, err := exec.CommandContext(t.Context(), "go", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("go %q: %v\n%s", arguments, err, output)
	}
}

// documents returns what asks a service for its document, as a client who may do everything.
func documents(t *testing.T) func(host string) []byte {
	t.Helper()
	server, token := servicestest.Open(t)
	return func(host string) []byte {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			server.URL+"/"+host+"/openapi.json", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%v, %s: %s", err, response.Status, body)
		}
		return body
	}
}
