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
	charset, given := parameters["charset"]
	switch {
	case err != nil || given && !strings.EqualFold(charset, "utf-8"):
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
	if _, parameters, err := mime.ParseMediaType(contentType); err == nil && parameters["charset"] != "" && !strings.EqualFold(parameters["charset"], "utf-8") {
		return fmt.Sprintf("the body is in charset %q: send it in UTF-8", parameters["charset"])
	}
	return "the body has to be application/json or application/x-www-form-urlencoded"
}
