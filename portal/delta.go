package portal

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/busline/busline/portal/internal/outside"
)

// A reader that has an older version of a document gets the difference to the newest one, as RFC 3229 (Delta encoding
// in HTTP) says: its request has
//
//	If-None-Match: W/"8Jk2x"
//	A-IM: merge-patch
//
// and the response is 304, or 226 with a JSON Merge Patch (RFC 7396), or 200 with the whole document. Entity tags are
// weak, so that the ingress compresses the documents: a patch applies to a JSON value, not to its bytes.

// Limits of what is kept of a document for one caller. A reader that was away for longer than versionAge gets the whole
// document.
const (
	maxVersions = 4
	versionAge  = 40 * time.Second // since another one has replaced it
)

// versions keeps the last few versions of one document of one caller. It is safe for concurrent use.
type versions struct {
	now func() time.Time

	mu  sync.Mutex // protects all fields below
	all []*version // the newest is the last
}

// version is one version of a document.
type version struct {
	body     []byte
	sum      [sha256.Size]byte // of body
	replaced time.Time         // zero for the newest
	to       *version          // to which patch leads
	patch    []byte            // nil if the whole document is better, or there is no patch
}

// tag returns the entity tag. salt is what else the document depends on: its base URL.
func (v *version) tag(salt string) string {
	sum := sha256.Sum256(append(v.sum[:], salt...))
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}

// add returns the version of a body, which becomes the newest, and those before it, the latest first. A body must not
// be changed afterwards.
func (s *versions) add(body []byte) (newest *version, older []*version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if last := len(s.all) - 1; last < 0 || !isSame(s.all[last].body, body) {
		sum := sha256.Sum256(body)
		if last < 0 || s.all[last].sum != sum {
			if last >= 0 {
				s.all[last].replaced = now
			}
			s.all = append(s.all, &version{body: body, sum: sum})
		}
	}
	s.all = slices.DeleteFunc(s.all, func(each *version) bool {
		return !each.replaced.IsZero() && now.Sub(each.replaced) > versionAge
	})
	s.all = slices.Delete(s.all, 0, max(0, len(s.all)-maxVersions))
	older = slices.Clone(s.all)
	slices.Reverse(older)
	return older[0], older[1:]
}

// isSame reports whether two slices are one.
func isSame(a, b []byte) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// patchTo returns what makes the newest version of an older one; nil if the whole document is better. It is worked out
// once.
func (s *versions) patchTo(newest, older *version) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if older.to != newest {
		patch, ok := createMergePatch(older.body, newest.body)
		if !ok || len(patch) >= len(newest.body) {
			patch = nil
		}
		older.to, older.patch = newest, patch
	}
	return older.patch
}

// serve answers a request for the document, which is body; whole returns what is sent of it, other than body, to
// readers with this salt.
func (s *versions) serve(w http.ResponseWriter, r *http.Request, body []byte, salt string, whole func() []byte) {
	newest, older := s.add(body)
	tag, asked := newest.tag(salt), entityTags(r.Header)
	header := w.Header()
	header.Set("ETag", tag)
	header.Set("Cache-Control", "private, no-cache") // the bus changes, and each caller sees something else
	if asked.has(tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.Method == http.MethodGet && acceptsMergePatch(r.Header) {
		for _, each := range older {
			base := each.tag(salt)
			if !asked.has(base) {
				continue
			}
			if patch := s.patchTo(newest, each); patch != nil {
				header.Set("Content-Type", "application/merge-patch+json")
				header.Set("IM", mergePatch)
				header.Set("Delta-Base", base)
				header.Set("Cache-Control", "private, no-store") // not every cache knows what 226 means
				w.WriteHeader(http.StatusIMUsed)
				_, _ = w.Write(patch) // the ResponseWriter of a bus handler does not fail here
				return
			}
		}
	}
	header.Set("Content-Type", "application/json")
	_, _ = w.Write(whole())
}

// serveBody is serve for a document that is the same for all readers.
func (s *versions) serveBody(w http.ResponseWriter, r *http.Request, body []byte) {
	s.serve(w, r, body, "", func() []byte { return body })
}

// mergePatch is the name of JSON Merge Patch as an instance manipulation.
const mergePatch = "merge-patch"

// acceptsMergePatch reports whether a reader takes a merge patch.
func acceptsMergePatch(header http.Header) bool {
	for one := range outside.Listed(header, "A-IM") {
		name, parameters, _ := strings.Cut(one, ";")
		if !strings.EqualFold(strings.TrimSpace(name), mergePatch) {
			continue
		}
		key, value, weighted := strings.Cut(strings.TrimSpace(parameters), "=")
		if !weighted || !strings.EqualFold(strings.TrimSpace(key), "q") {
			return true
		}
		quality, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		return err == nil && quality > 0
	}
	return false
}

// tagSet are the entity tags of If-None-Match, without W/.
type tagSet struct {
	any  bool // "*"
	tags map[string]bool
}

// has reports whether a tag is one of them. The comparison is weak (RFC 9110, 8.8.3.2).
func (s tagSet) has(tag string) bool { return s.any || s.tags[strings.TrimPrefix(tag, "W/")] }

// maxTags is how many tags of a request are read.
const maxTags = 64

// entityTags reads If-None-Match. What is malformed is left out, with all that follows it in the same field line.
func entityTags(header http.Header) tagSet {
	found := tagSet{tags: make(map[string]bool)}
	for _, rest := range header.Values("If-None-Match") {
		if strings.TrimSpace(rest) == "*" {
			found.any = true
		}
		for len(found.tags) < maxTags {
			rest = strings.TrimLeft(rest, ", \t")
			opaque, quoted := strings.CutPrefix(strings.TrimPrefix(rest, "W/"), `"`)
			end := strings.IndexByte(opaque, '"')
			if !quoted || end < 0 {
				break
			}
			found.tags[`"`+opaque[:end]+`"`] = true
			rest = opaque[end+1:]
		}
	}
	return found
}

// createMergePatch returns the JSON Merge Patch (RFC 7396) that makes one JSON object into another. It returns false if
// there is none, because what is new has a member that is null.
func createMergePatch(from, to []byte) (patch []byte, ok bool) {
	before, after := members(from), members(to)
	if before == nil || after == nil {
		return nil, false
	}
	changed, ok := changedMembers(before, after)
	if !ok {
		return nil, false
	}
	patch, err := json.Marshal(changed)
	return patch, err == nil
}

// changedMembers returns the members of a merge patch.
func changedMembers(before, after map[string]jsontext.Value) (changed map[string]jsontext.Value, ok bool) {
	changed = make(map[string]jsontext.Value)
	for name, now := range after {
		was, had := before[name]
		if had && bytes.Equal(was, now) {
			continue
		}
		inside := members(now)
		if inside == nil {
			if isNull(now) {
				return nil, false
			}
			changed[name] = now
			continue
		}
		earlier := members(was)
		within, ok := changedMembers(earlier, inside) // all of them without an earlier object, which finds null members
		if !ok {
			return nil, false
		}
		if earlier != nil && len(within) == 0 {
			continue
		}
		text, err := json.Marshal(within)
		if err != nil {
			return nil, false
		}
		changed[name] = text
	}
	for name := range before {
		if _, stays := after[name]; !stays {
			changed[name] = jsontext.Value("null")
		}
	}
	return changed, true
}

// members returns the members of a JSON object, nil for any other value.
func members(text []byte) map[string]jsontext.Value {
	decoder := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if opening, err := decoder.ReadToken(); err != nil || opening.Kind() != jsontext.KindBeginObject {
		return nil
	}
	all := make(map[string]jsontext.Value)
	for decoder.PeekKind() == jsontext.KindString {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil
		}
		key := name.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return nil
		}
		all[key] = bytes.Clone(value)
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil
	}
	return all
}

func isNull(text []byte) bool { return bytes.Equal(bytes.TrimSpace(text), []byte("null")) }
