package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// CheckBaseURL returns an error unless baseURL can be the URL of a document's server, to which its paths are appended.
// "" is valid.
func CheckBaseURL(baseURL string) error {
	if baseURL == "" {
		return nil
	}
	parsed, err := url.Parse(baseURL)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" || strings.ContainsAny(baseURL, "?#") {
		return fmt.Errorf("%q is not an address such as https://api.example.com", baseURL)
	}
	if parsed.User != nil { // not to be shown in this error, either
		return errors.New("it has a login, which all documents would show: leave it out")
	}
	return nil
}
