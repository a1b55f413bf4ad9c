package openapi

import (
	"fmt"
	"net/url"
)

// CheckBaseURL refuses what cannot stand in front of the paths of a document, as the
// URL of its server. None at all is fine.
func CheckBaseURL(baseURL string) error {
	if baseURL == "" {
		return nil
	}
	parsed, err := url.Parse(baseURL)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" || parsed.RawQuery != "" {
		return fmt.Errorf("%q is not an address such as https://api.example.com", baseURL)
	}
	return nil
}
