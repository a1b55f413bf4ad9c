package bus

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// endpoint is the plan of one endpoint, made when it is registered. A call walks it and searches nothing.
type endpoint struct {
	Endpoint
	endpointConfig
	source string // the host whose event this is; "" for what is served on our own host
	mapped *restmap.Endpoint
	rule   *claims.Rule // what it asks of a token; nil for nothing
	run    func(ctx context.Context, in *incoming) (*wire.Response, error)
	chain  CallFunc        // ends with run
	served *metrics.Family // by caller; nil for what the framework itself serves

	unseen    bool         // no interceptor of the user's stands in the chain
	lastError atomic.Int32 // the status of the last request that was answered with an error
}

// Ports by convention.
const (
	publicPort  = 443 // where an endpoint is served unless an option says otherwise
	controlPort = 888 // what the framework itself asks, never from outside
)

// Body limits, where no option says otherwise.
const (
	functionBodyLimit = 4 << 20
	webBodyLimit      = 32 << 20
)

// endpointConfig is what the options of an endpoint set.
type endpointConfig struct {
	port        int
	queue       bool
	hidden      bool
	onAll       bool   // served on the host "all", by one subscription for all that is
	addressed   bool   // served only to who addresses this instance, or all of them
	judged      bool   // Claims or Public was used at this level: that of Serve, or of the one method or handler
	secured     bool   // it asks for claims
	claims      string // that satisfy this expression
	fault       error  // what is wrong with how they were used
	bodyLimit   int    // bytes; 0: the default of its kind
	timeBudget  time.Duration
	description string

	interceptors []Interceptor
}

func newEndpointConfig() endpointConfig { return endpointConfig{port: publicPort, queue: true} }

// Faults of claims at one level, of which the last would count and the others go unnoticed.
var (
	errClaimsTwice     = errors.New(`bus.RequireClaims twice in one place: join both expressions in one, bus.RequireClaims("(…) and (…)")`)
	errClaimsAndPublic = errors.New("bus.RequireClaims beside bus.AllowAnonymous in one place: leave one of them out")
)

// judge sets whether claims are asked for, and which.
func (c *endpointConfig) judge(secured bool, claims string) {
	switch {
	case c.judged && secured != c.secured:
		c.fault = errClaimsAndPublic
	case c.judged && secured:
		c.fault = errClaimsTwice
	}
	c.judged, c.secured, c.claims = true, secured, claims
}

// newEndpoint makes the plan of an endpoint that nothing has been done for yet.
func newEndpoint(config endpointConfig, name string, mapped *restmap.Endpoint) *endpoint {
	return &endpoint{
		Endpoint:       Endpoint{Name: name, Path: mapped.Path().String(), Port: config.port},
		endpointConfig: config, mapped: mapped,
	}
}

// queueName is the queue that an instance answers under. Without a queue each instance is one of its own.
func (e *endpoint) queueName(c *Conn) string {
	if e.queue {
		return c.host
	}
	return c.ownHost
}

// brokerQueue is the queue that the broker balances over, "" for none.
func (e *endpoint) brokerQueue(c *Conn) string {
	if e.queue {
		return c.host
	}
	return ""
}

func (e *endpoint) sharesPort(other *endpoint) bool { return other.Port == e.Port }

// hostOf is the hostname that the endpoint is served on.
func (e *endpoint) hostOf(c *Conn) string { return cmp.Or(e.source, c.host) }

// tokens are the pattern's segments as a subscription has them.
func tokens(pattern restmap.Pattern) []string {
	segments := pattern.Segments()
	made := make([]string, len(segments))
	for i, segment := range segments {
		switch {
		case segment.Rest:
			made[i] = ">"
		case segment.Name != "":
			made[i] = "*"
		default:
			made[i] = subject.Escape(segment.Literal)
		}
	}
	return made
}
