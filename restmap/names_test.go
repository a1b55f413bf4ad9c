package restmap_test

import (
	"testing"

	"github.com/busline/busline/restmap"
)

func TestKebab(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Add":          "add",
		"DefaultQueue": "default-queue",
		"HTTPStatus":   "http-status",
		"NoQueue":      "no-queue",
		"UserID":       "user-id",
		"UserIDs":      "user-ids",
		"IDsOfUsers":   "ids-of-users",
		"GetAs":        "get-as",
		"A":            "a",
		"ABTest":       "ab-test",
		"Base64Encode": "base64-encode",
		"V2Add":        "v2-add",
		"MD5":          "md5",
		"Do_It":        "do-it",
		"lowerCamel":   "lower-camel",
		"ÄnderePreis":  "ändere-preis",
		"":             "",
	} {
		if got := restmap.Kebab(name); got != want {
			t.Errorf("Kebab(%q) = %q, want %q", name, got, want)
		}
	}
}
