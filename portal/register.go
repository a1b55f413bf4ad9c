package portal

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/busline/busline/bus"
)

// portalConfig is the configuration of the portal: defaults, then options.
type portalConfig struct {
	ports    []int
	now      func() time.Time
	patience patience
}

// patience says how long the portal waits for answers of the instances.
type patience struct {
	discovery time.Duration // to say what they serve; it leaves time to fetch documents
	documents time.Duration // to return their documents, discovery included
	traffic   time.Duration // to return their counts
}

func defaultPatience() patience {
	return patience{discovery: 500 * time.Millisecond, documents: 1500 * time.Millisecond, traffic: 1500 * time.Millisecond}
}

// Register serves the portal on conn, which has to be connected as "portal": the page for browsers at /, and at
// /openapi.json one document of everything that is served on public ports of the plane.
//
// A caller's token is passed on to each service, which leaves out what its bearer may not call.
//
// The document is at most 2 s behind the bus, however many ask for it. A service is left out if its document does not
// come in time, cannot be read, or describes other hosts; the description of the document, which the page shows, names
// it.
//
// The page has two helpers, which the document does not list: /instances.json, the running instances of the services in
// a caller's document, and POST /multicast, with which the page calls all instances of a service, as its caller and
// only under the ports of the document.
//
// /live.json says which services run and who calls whom, how often and how fast, limited to what the document
// describes; see docs/map.md. The portal asks the instances at most once a second, and only while somebody looks.
//
// All of it is live when Register returns. After an error close the connection.
func Register(conn *bus.Conn, options ...RegisterOption) error {
	if conn == nil {
		return errors.New("the portal cannot be served without a connection")
	}
	if conn.Host() != hostPortal {
		return fmt.Errorf("portal on %s: connect as %q, the host that / redirects to", conn.Host(), hostPortal)
	}
	config := &portalConfig{ports: defaultPorts(), now: time.Now, patience: defaultPatience()}
	for i, option := range options {
		if option == nil {
			return fmt.Errorf("portal: %w", noOption(i))
		}
		option.applyToPortal(config)
	}
	if err := validPorts(config.ports); err != nil {
		return err
	}
	handlers, err := pageHandlers()
	if err != nil {
		return err
	}
	all := newCatalogs(conn, config)
	handlers["/openapi.json"] = &documentHandler{conn: conn, catalogs: all}
	handlers["/instances.json"] = &instancesHandler{catalogs: all}
	handlers["/live.json"] = newLive(conn, all, config)
	for path, handler := range handlers {
		if err := conn.Handle(http.MethodGet, path, secured(handler), bus.Undocumented()); err != nil {
			return fmt.Errorf("portal: %w", err)
		}
	}
	multicast := secured(newMulticastHandler(conn, config.ports))
	if err := conn.Handle(http.MethodPost, "/multicast", multicast, bus.Undocumented(), bus.MaxBodyBytes(maxMulticastBytes)); err != nil {
		return fmt.Errorf("portal: %w", err)
	}
	return nil
}

// secured sets the security headers for everything that the portal serves: browsers load nothing from elsewhere, send
// nothing there, show the page in no frame, and do not guess media types.
func secured(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy",
			"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		handler.ServeHTTP(w, r)
	})
}
