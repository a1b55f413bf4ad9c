package msgsvc

import (
	"net/http"
	"net/url"

	"github.com/busline/busline/bus"
)

// CacheStore keeps the query argument value under the query argument key. Any instance finds it.
func (s *Service) CacheStore(w http.ResponseWriter, r *http.Request) error {
	key, err := queryArgument(r, "key")
	if err != nil {
		return err
	}
	value, err := queryArgument(r, "value")
	if err != nil {
		return err
	}
	if err := s.cache.Store(r.Context(), key, value); err != nil {
		return err
	}
	return writeText(w, "key: %s\nvalue: %s\nStored by %s\n", key, value, s.conn.ID())
}

// CacheLoad finds what was stored under the query argument key, through whichever instance.
func (s *Service) CacheLoad(w http.ResponseWriter, r *http.Request) error {
	key, err := queryArgument(r, "key")
	if err != nil {
		return err
	}
	value, found, err := s.cache.Load(r.Context(), key)
	switch {
	case err != nil:
		return err
	case found:
		return writeText(w, "key: %s\nfound: yes\nvalue: %s\nLoaded by %s\n", key, value, s.conn.ID())
	default:
		return writeText(w, "key: %s\nfound: no\nLoaded by %s\n", key, s.conn.ID())
	}
}

// queryArgument returns an argument that has to be there, once. It may be empty, and hold any bytes.
func queryArgument(r *http.Request, name string) (string, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", bus.Errorf(http.StatusBadRequest, "the query cannot be read: %w", err)
	}
	switch values := query[name]; len(values) {
	case 1:
		return values[0], nil
	case 0:
		return "", bus.Errorf(http.StatusBadRequest, "the query argument %s is missing", name)
	default:
		return "", bus.Errorf(http.StatusBadRequest, "the query argument %s is given %d times", name, len(values))
	}
}
