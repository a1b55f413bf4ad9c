package metrics

import "time"

// Traffic is what an instance has served and called since it was opened, by its own count. It answers that to GET
// :888/traffic; asked of all instances, that is the map of a plane.
type Traffic struct {
	// Started is when the instance was opened.
	Started time.Time `json:"started"`
	// Served are the requests of its endpoints, by caller. An endpoint without requests is in it with no caller.
	Served []ServedCalls `json:"served"`
	// Made are its own calls, by callee.
	Made []MadeCalls `json:"made"`
}

// ServedCalls are the requests that one endpoint has served for one caller.
type ServedCalls struct {
	Endpoint string `json:"endpoint"` // its name, "Calculator.Add"
	Path     string `json:"path"`     // "/products/{id}"
	Port     int    `json:"port"`
	Caller   string `json:"caller"` // the hostname that it gives itself; "" without requests, Others for those beyond 256
	Counts
}

// MadeCalls are the calls made to one host, unicast and multicast.
type MadeCalls struct {
	Callee string `json:"callee"`
	Counts
}
