package portal_test

import (
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
)

// TestOnlyASCIIIsLowered calls a host in upper case, and no host that only looks like another one.
func TestOnlyASCIIIsLowered(t *testing.T) {
	t.Parallel()
	if to, err := portal.Address("/KIOSK.Example/"); err != nil || to.Host != "kiosk.example:443" {
		t.Errorf("%v, %v", to, err)
	}
	for _, path := range []string{"/\u212aIOSK.Example/", "/kios\u212a.example:443/"} { // the Kelvin sign, not a K
		if to, err := portal.Address(path); bus.StatusOf(err) != 404 {
			t.Errorf("%s: %v, %v", path, to, err)
		}
	}
}

// TestEncodedSlashesStay has bytes beside them that should have been encoded.
func TestEncodedSlashesStay(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/a.example/x%2Fy|": "/x%2Fy%7C", "/a.example/x%2fy\xff": "/x%2fy%FF"} {
		if to, err := portal.Address(path); err != nil || to.EscapedPath() != want {
			t.Errorf("%s: %v, %v, want the path %s", path, to, err, want)
		}
	}
}
