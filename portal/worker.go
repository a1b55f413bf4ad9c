package portal

import (
	"net/http"
	"strings"

	"github.com/busline/busline/bus"
)

// checkWorker refuses the script of a service worker at /<host>, without a path. It would control all pages in the
// folder of the script, which would be those of all services and the portal's. A browser says for what it wants the
// script (https://w3c.github.io/ServiceWorker/#service-worker-script-request).
func checkWorker(r *http.Request, path string) error {
	service := strings.TrimPrefix(path, "/")
	if r.Header.Get("Service-Worker") == "" || strings.Contains(service, "/") {
		return nil
	}
	return bus.Errorf(http.StatusForbidden, "a service worker at /%.80s would control the pages of all services; give it a path below /%.80[1]s/", service)
}
