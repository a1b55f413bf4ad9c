package subject_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/subject"
)

// FuzzSubjectInjective holds that only equal addresses have the same subject, and that every subject can be published.
func FuzzSubjectInjective(f *testing.F) {
	f.Add(443, "h", "GET", "/a.b", 443, "h", "GET", "/a/b")
	f.Add(443, "h", "GET", "/a%2Fb", 443, "h", "GET", "/a/b")
	f.Add(443, "h", "GET", "/a%2eb", 443, "h", "GET", "/a.b")
	f.Add(443, "h", "GET", "", 443, "h", "GET", "/")
	f.Add(443, "h", "GET", "/", 443, "h", "GET", "//")
	f.Add(443, "h", "GET", "/%25", 443, "h", "GET", "/")
	f.Add(443, "a.b", "GET", "/x", 443, "b.a", "GET", "/x")
	f.Add(443, "a.b", "GET", "/|/GET/x", 443, "a", "GET", "/GET/x")
	f.Add(80, "r", "POST", "/*", 443, "r", "POST", "/>")
	f.Add(1, "all", "A", "/\x00\r\n\t \x7f\xff", 65535, "all", "AA", "/%00")
	f.Fuzz(func(t *testing.T, portA int, hostA, methodA, pathA string, portB int, hostB, methodB, pathB string) {
		a := subject.Address{Port: portA, Host: hostA, Method: methodA, Path: pathA}
		b := subject.Address{Port: portB, Host: hostB, Method: methodB, Path: pathB}
		subjectA, segmentsA, okA := mapped(t, a)
		subjectB, segmentsB, okB := mapped(t, b)
		if !okA || !okB {
			return
		}
		same := a.Port == b.Port && a.Host == b.Host && a.Method == b.Method && slices.Equal(segmentsA, segmentsB)
		if same != (subjectA == subjectB) {
			t.Errorf("%+v is %q\n%+v is %q", a, subjectA, b, subjectB)
		}
	})
}

// FuzzParse holds that Parse accepts nothing but what Address.Subject writes.
func FuzzParse(f *testing.F) {
	for _, test := range golden {
		f.Add(test.subject)
	}
	f.Add("bus.r.example.calculator.k3x")
	f.Add("bus.*.example.calculator.k3x.|.>")
	f.Add("bus.443.h.|.GET.%2e.%%.%")
	f.Fuzz(func(t *testing.T, text string) {
		plane, address, err := subject.Parse(text)
		if err != nil {
			return
		}
		back, err := address.Subject(plane)
		require.NoError(t, err, address)
		assert.Equal(t, text, back, address)
	})
}

// mapped returns the subject of an address and its decoded segments, and checks the mapping in both directions.
func mapped(t *testing.T, a subject.Address) (text string, segments []string, ok bool) {
	t.Helper()
	text, err := a.Subject("bus")
	if err != nil {
		return "", nil, false
	}
	segments, err = subject.Segments(a.Path)
	if err != nil {
		t.Fatalf("%+v has a subject but no segments: %v", a, err)
	}
	checkPublishable(t, text)
	plane, back, err := subject.Parse(text)
	require.NoError(t, err)
	again, err := subject.Segments(back.Path)
	require.NoError(t, err)
	back.Path, a.Path = "", ""
	assert.Equal(t, "bus", plane, text)
	assert.Equal(t, a, back, text)
	assert.Equal(t, segments, again, text)
	return text, segments, true
}

// checkPublishable checks the broker's requirements for a subject in a publish.
func checkPublishable(t *testing.T, text string) {
	t.Helper()
	if len(text) > subject.MaxLength {
		t.Errorf("a subject of %d bytes", len(text))
	}
	for token := range strings.SplitSeq(text, ".") {
		assert.NotEmpty(t, token, text)
		assert.False(t, strings.ContainsAny(token, "*>"), text)
	}
	for i := range len(text) {
		assert.Greater(t, text[i], byte(' '))
		assert.Less(t, text[i], byte(0x7f))
	}
}
