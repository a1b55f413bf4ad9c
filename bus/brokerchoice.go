package bus

import (
	"fmt"
	"strings"
)

// chooseBroker refuses options that say which broker to use, each in its way. The broker of a test is none of them: code under test
// may have another.
func (c *connectConfig) chooseBroker() error {
	var given []string
	for _, each := range []struct {
		option string
		given  bool
	}{
		{"bus.WithNATS", c.linkConfig.nats != nil},
		{"bus.WithBroker", c.linkConfig.provider != nil && !c.testBroker},
		{"bus.WithURL", c.urlGiven},
	} {
		if each.given {
			given = append(given, each.option)
		}
	}
	if len(given) > 1 {
		return fmt.Errorf("%s say which broker to use, each in its way: use one of them", strings.Join(given, " and "))
	}
	if c.urlGiven {
		c.linkConfig.provider = nil
	}
	return nil
}
