package reflectapi

import (
	"encoding/base64"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// hasFormat says whether a text has a format. What isFormat does not know, every text has.
func hasFormat(text, format string) bool {
	switch format {
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, text)
		return err == nil
	case "byte":
		_, err := base64.StdEncoding.DecodeString(text)
		return err == nil
	case "email":
		address, err := mail.ParseAddress(text)
		return err == nil && address.Address == text
	case "uuid":
		return isUUID(text)
	case "ipv4", "ipv6":
		address, err := netip.ParseAddr(text)
		return err == nil && address.Is4() == (format == "ipv4") && address.Zone() == ""
	case "uri":
		parsed, err := url.Parse(text)
		return err == nil && parsed.Scheme != ""
	}
	return true
}

// isFormat tells the formats that are enforced.
func isFormat(format string) bool {
	switch format {
	case "date", "date-time", "byte", "email", "uuid", "ipv4", "ipv6", "uri":
		return true
	}
	return false
}

// isHint tells the formats that say how a text is shown, and restrict nothing.
func isHint(format string) bool { return format == "password" || format == "binary" }

// isUUID tells 8-4-4-4-12 hexadecimal digits.
func isUUID(text string) bool {
	parts := strings.Split(text, "-")
	if len(parts) != 5 {
		return false
	}
	for i, length := range []int{8, 4, 4, 4, 12} {
		if len(parts[i]) != length || strings.Trim(parts[i], "0123456789abcdefABCDEF") != "" {
			return false
		}
	}
	return true
}
