package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap"
)

// install puts endpoints into the router, which holds all their state, and only then subscribes. When it returns
// the broker knows of them.
func (c *Conn) install(ctx context.Context, w *witness, endpoints []*endpoint) error {
	return c.installIn(ctx, w, c.router, endpoints, c.subscribeAll)
}

// chain composes what the requests of each endpoint pass through.
func (c *Conn) chain(endpoints []*endpoint) (err error) {
	for _, e := range endpoints {
		if e.Port == controlPort { // whose plans all connections share
			continue
		}
		e.served = new(metrics.Family)
		e.unseen = e.mapped.Style != restmap.Web && len(c.interceptors)+len(e.interceptors) == 0
		if e.chain, err = c.serverChain(e); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return nil
}

// installIn is install with another router, and another way to subscribe.
func (c *Conn) installIn(ctx context.Context, w *witness, router *router, endpoints []*endpoint, subscribe func([]*endpoint) error) error {
	if err := c.chain(endpoints); err != nil {
		return err
	}
	if err := router.add(endpoints); err != nil {
		return err
	}
	before := c.subscribed()
	err := subscribe(endpoints)
	if err == nil {
		err = c.link.flush(ctx)
	}
	if err == nil {
		err = c.checkSubscriptions(ctx, w)
	}
	if err != nil {
		c.unsubscribe(before)
		router.remove(endpoints)
		_ = c.link.flush(ctx) // until the broker knows, calls would still be sent here, where nobody takes them
	}
	return c.closedMeanwhile(err)
}

// closedMeanwhile has the error of a registration say that the connection is closing, which has most likely caused it.
func (c *Conn) closedMeanwhile(err error) error {
	if err == nil || errors.Is(err, ErrClosed) || !c.isClosing() {
		return err
	}
	return fmt.Errorf("%w: %w", ErrClosed, err)
}

func (e *endpoint) subject(plane, host string, route restmap.Route) string {
	return subject.Subscription(plane, strconv.Itoa(e.Port), host, route.Method, tokens(route.Pattern)...)
}

func (c *Conn) subscribeAll(endpoints []*endpoint) error {
	for _, e := range endpoints {
		if e.addressed {
			continue
		}
		for i := range e.mapped.Routes {
			route := &e.mapped.Routes[i]
			added := &listening{subject: e.subject(c.plane, e.hostOf(c), *route), queue: e.brokerQueue(c), through: subscriptionOf(e, route)}
			if err := c.subscribe(added); err != nil {
				return err
			}
		}
	}
	return nil
}
