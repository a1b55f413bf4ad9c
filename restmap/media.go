package restmap

import (
	"fmt"
	"mime"
	"strings"
)

// media is the kind of a content type, as far as it matters here.
type media int

const (
	unsupportedMedia media = iota
	jsonMedia
	formMedia
)

// mediaKind returns the kind of a content type. A missing content type counts as JSON if there is no body.
func mediaKind(contentType string, empty bool) media {
	switch {
	case contentType == "application/json" || contentType == "" && empty:
		return jsonMedia
	case contentType == "":
		return unsupportedMedia
	}
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil || otherCharset(parameters) != "":
		return unsupportedMedia
	case mediaType == "application/json" || strings.HasSuffix(mediaType, "+json"): // RFC 6839, 3.1
		return jsonMedia
	case mediaType == "application/x-www-form-urlencoded":
		return formMedia
	default:
		return unsupportedMedia
	}
}

// unsupportedBody says what is wrong with a content type.
func unsupportedBody(contentType string) string {
	_, parameters, err := mime.ParseMediaType(contentType)
	if charset := otherCharset(parameters); err == nil && charset != "" {
		return fmt.Sprintf("the body is in charset %q: send it in UTF-8", charset)
	}
	return "the body has to be application/json or application/x-www-form-urlencoded"
}

// otherCharset returns the charset of a content type if it is not the one that is understood, "" if it is or none is given.
func otherCharset(parameters map[string]string) string {
	if charset := parameters["charset"]; !strings.EqualFold(charset, "utf-8") {
		return charset
	}
	return ""
}
