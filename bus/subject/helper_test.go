package subject_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/subject"
)

// wantError checks that err is an *Error with this status and detail.
func wantError(t *testing.T, err error, status int, detail string) {
	t.Helper()
	var got *subject.Error
	if !errors.As(err, &got) {
		t.Fatalf("error %v, want %q", err, detail)
	}
	assert.Equal(t, status, got.Status, got.Detail)
	assert.Equal(t, detail, got.Error(), got.Detail)
}

func wantAllocs(t *testing.T, name string, most float64, run func() error) {
	t.Helper()
	got := testing.AllocsPerRun(100, func() {
		if err := run(); err != nil {
			t.Fatal(err)
		}
	})
	if got > most {
		t.Errorf("%s allocates %v times, want at most %v", name, got, most)
	}
}
