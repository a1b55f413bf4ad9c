package bus

import (
	"slices"

	"github.com/busline/busline/restmap/openapi"
)

// warnOfDisplaced warns of endpoints that are served, but that no document lists beside another one, which was added with them,
// or before, or displaces them now.
func (c *Conn) warnOfDisplaced(added []*endpoint) {
	for _, e := range added {
		if e.hidden {
			continue
		}
		for _, other := range c.documents.beside(e) {
			switch {
			case openapi.Displaces(other.mapped, e.mapped):
				c.warnThatDisplaced(e, other)
			case openapi.Displaces(e.mapped, other.mapped) && !slices.Contains(added, other): // or it is its turn, too
				c.warnThatDisplaced(other, e)
			}
		}
	}
}

func (c *Conn) warnThatDisplaced(e, by *endpoint) {
	c.logger.Warn().Str("endpoint", e.Name).Str("path", e.Path).
		Msgf("the endpoint is served, but not in documents, where its path is the same as %s of %s: give it a path of another form, or hide it", by.Path, by.Name)
}
