package natsmicro_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/internal/natsmicro"
)

func TestSemanticVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"": "0.0.0", "1": "1.0.0", "v1": "1.0.0", "1.2": "1.2.0", "1.2.3": "1.2.3", "v1.2.3-rc.1+b.007": "1.2.3-rc.1+b.007",
		"1-beta": "1.0.0-beta", "0": "0.0.0", "10.20.30--1-": "10.20.30--1-", "1+2026-11-22": "1.0.0+2026-11-22",
		"latest": "0.0.0", "1.2.3.4": "0.0.0", "01": "0.0.0", "1.02.3": "0.0.0", "1.": "0.0.0", ".1": "0.0.0",
		"1..2": "0.0.0", "vv1": "0.0.0",
		"1.2.3-": "0.0.0", "1.2.3-a..b": "0.0.0", "1.2.3-01": "0.0.0", "1.2.3-0a": "1.2.3-0a", "1.2.3+": "0.0.0",
		"1.2.3+ä": "0.0.0", "-1": "0.0.0",
		"1.2.3 4": "0.0.0", "2024.11.05": "0.0.0", "٣.1.1": "0.0.0",
	} {
		got := natsmicro.SemanticVersion(version)
		if got != want {
			t.Errorf("%q is %q, want %q", version, got, want)
		}
		checkAccepted(t, "name", got)
	}
}

func TestEndpointName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Calculator.Add": "Calculator-Add", "GET /files/{path+}": "GET-files-path", "GET /openapi.json": "GET-openapi-json",
		"* /a_b/ü": "a_b", "* /": "any", "": "any", "GET /": "GET",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := natsmicro.EndpointName(name)
			if got != want {
				t.Errorf("%q is %q, want %q", name, got, want)
			}
			checkAccepted(t, got, "1.0.0")
		})
	}
}

func TestSubject(t *testing.T) {
	t.Parallel()
	subject := natsmicro.Subject("a-1.b.example")
	if want := "$SRV.*.a-1-b-example"; subject != want {
		t.Errorf("the subject is %q, want %q", subject, want)
	}
	checkAccepted(t, strings.TrimPrefix(subject, natsmicro.AllServices+"."), "1.0.0")
}

// checkAccepted checks a name and a version with package micro, which looks at the queue group last and rejects that
// here. So no service is made, and no broker is needed.
func checkAccepted(t *testing.T, name, version string) {
	t.Helper()
	_, err := micro.AddService(nil, micro.Config{Name: name, Version: version, QueueGroup: "no queue group"})
	assert.ErrorContains(t, err, "invalid queue group name", "%q %q", name, version)
}
