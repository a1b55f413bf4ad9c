package portal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/openapi"
)

// maxMemberBytes bounds the size of the document of one place.
const maxMemberBytes = 4 << 20

// fetch returns the document of a place, or nil if it has none. The error is a sentence that says why the place is left
// out.
func (c *catalog) fetch(ctx context.Context, from place) (*openapi.Document, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+from.String()+"/openapi.json", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.conn.Do(request)
	if err != nil {
		return nil, c.notFetched(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound: // everything that is served there is hidden
		return nil, nil
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers the request for its document with status %d", response.StatusCode)
	case response.ContentLength > maxMemberBytes:
		return nil, fmt.Errorf("its document exceeds %d bytes", maxMemberBytes)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return parseMember(body, from)
}

// notFetched returns nil for a place that has left the bus meanwhile, because that is no fault.
func (c *catalog) notFetched(err error) error {
	failed, ok := errors.AsType[*bus.Error](err)
	switch {
	case !ok:
		return err
	case errors.Is(err, bus.ErrNoResponder):
		return nil
	case errors.Is(err, bus.ErrNoAck):
		return errors.New("nobody acked the request for it")
	case errors.Is(err, bus.ErrTimeout):
		return fmt.Errorf("it did not answer within %s", c.patience.documents)
	case bus.IsInternal(err): // whoever reads the note need not be of the bus
		return errors.New(withheld(failed.Status, failed.MsgID))
	default:
		return errors.New(failed.Detail)
	}
}

// leadsUp says whether a path has a segment . or .., escaped or not. Browsers and other clients resolve such segments
// (RFC 3986, 5.2.4) and request a different path, possibly of another service.
func leadsUp(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if plain := strings.ReplaceAll(strings.ToLower(segment), "%2e", "."); plain == "." || plain == ".." {
			return true
		}
	}
	return false
}

// misread says whether a path has a character that browsers treat unlike others (https://url.spec.whatwg.org/#url-parsing):
// they take \ for /, leave out tabs and line ends, also within two dots, and end a path at ? and #.
func misread(path string) bool {
	return strings.ContainsAny(path, `\?#`) || strings.ContainsFunc(path, unicode.IsControl)
}

// parseMember reads the document of a place. It must not describe any other place.
func parseMember(body []byte, from place) (*openapi.Document, error) {
	document, err := openapi.Parse(body)
	if err != nil {
		return nil, fmt.Errorf("its document cannot be read: %w", err)
	}
	prefix := "/" + from.String() + "/"
	for path := range document.Paths {
		if !strings.HasPrefix(path, prefix) || leadsUp(path) {
			return nil, fmt.Errorf("its document contains %.80q, which is not its own", path)
		}
		if misread(path) {
			return nil, fmt.Errorf("its document contains %.80q, which a browser reads as another path", path)
		}
	}
	return document, nil
}
