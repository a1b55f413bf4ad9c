package bus

import (
	"net/http"
	"strconv"

	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// maxAnnounced is the largest Content-Length that a response to HEAD can announce: see [wire.Response].
const maxAnnounced = 999_999_999_999_999_999

// announceLength replaces the body of a response to HEAD by its length: the Content-Length in the header that the handler has written,
// else the length of the body that it has written, if any.
func announceLength(response *wire.Response, header http.Header) {
	if !restmap.HasContent(response.Status) {
		return
	}
	announced, err := strconv.ParseUint(header.Get("Content-Length"), 10, 63)
	switch {
	case err == nil && announced <= maxAnnounced:
		response.ContentLength = strconv.FormatUint(announced, 10)
	case len(response.Body) > 0:
		response.ContentLength = strconv.Itoa(len(response.Body))
	}
	response.Body = nil
}
