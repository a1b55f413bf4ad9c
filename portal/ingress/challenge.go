package ingress

import (
	"net/http"
	"strings"
)

// metadataPath begins the paths that say where clients can get tokens (RFC 9728, 3). It hides no service, because a
// hostname does not begin with a dot.
const metadataPath = "/.well-known/oauth-protected-resource"

// protectedResource says where clients can get tokens for a resource (RFC 9728, 2).
type protectedResource struct {
	Resource string   `json:"resource"`
	Issuers  []string `json:"authorization_servers"`
	Methods  []string `json:"bearer_methods_supported"`
}

// challengingWriter adds to a 401 where clients can get tokens (RFC 9728, 5.1).
type challengingWriter struct {
	http.ResponseWriter

	metadata string // a URL
}

// WriteHeader completes each challenge that asks for a token.
func (c *challengingWriter) WriteHeader(status int) {
	const name = "Www-Authenticate"
	if challenges := c.Header()[name]; status == http.StatusUnauthorized {
		named := make([]string, len(challenges))
		for at, challenge := range challenges {
			parameters, isBearer := strings.CutPrefix(challenge, "Bearer")
			if named[at] = challenge; isBearer {
				separator := ", "
				if parameters == "" {
					separator = " "
				}
				named[at] += separator + `resource_metadata="` + c.metadata + `"`
			}
		}
		c.Header()[name] = named
	}
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the writer below, for [http.ResponseController].
func (c *challengingWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }
