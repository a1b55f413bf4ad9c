package reflectapi

import (
	"encoding/base64"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// hasFormat reports whether a string has a format. Every string has a format that isFormat does not know.
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

// isFormat reports whether a format is enforced.
func isFormat(format string) bool {
	switch format {
	case "date", "date-time", "byte", "email", "uuid", "ipv4", "ipv6", "uri":
		return true
	}
	return false
}

// isHint reports whether a format only says how a string is shown, and restricts nothing.
func isHint(format string) bool { return format == "password" || format == "binary" }

// isUUID reports whether a string is 8-4-4-4-12 hexadecimal digits.
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
