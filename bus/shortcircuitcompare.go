package bus

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/busline/busline/bus/wire"
)

// comparison collects the differences between a message in the process and the same one over the broker.
type comparison struct {
	call, message string // "POST https://calculator.example/add", "response"
	differences   []error
}

func callName(of *outgoing) string {
	host := of.address.Host
	if of.address.Port != publicPort {
		host += ":" + strconv.Itoa(of.address.Port)
	}
	return of.address.Method + " https://" + host + of.address.Path
}

// lost is the difference that leaves nothing to compare.
func (c *comparison) lost(err error) error {
	return fmt.Errorf("%s: the %s arrives in the process, but would not arrive over the broker: %w", c.call, c.message, err)
}

// part compares two values that can be compared.
func (c *comparison) part(name string, here, there any) {
	if here != there {
		c.differ(name, shown(here), shown(there))
	}
}

// values compares structs that were copied with those that have been text.
func (c *comparison) values(name string, here, there reflect.Value) {
	if !reflect.DeepEqual(here.Interface(), there.Interface()) {
		c.differ(name, fmt.Sprintf("%+v", here), fmt.Sprintf("%+v", there))
	}
}

// header compares by name: the order of different fields means nothing.
func (c *comparison) header(here, there wire.Header) {
	mine, theirs := here.HTTP(), there.HTTP()
	names := maps.Clone(mine)
	maps.Copy(names, theirs)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !slices.Equal(mine[name], theirs[name]) {
			c.differ("header "+name, fmt.Sprintf("%q", mine[name]), fmt.Sprintf("%q", theirs[name]))
		}
	}
}

// body compares bytes, and shows them from shortly before the first that differs.
func (c *comparison) body(here, there []byte) {
	if bytes.Equal(here, there) {
		return
	}
	const before = 20
	at := 0
	for at < min(len(here), len(there)) && here[at] == there[at] {
		at++
	}
	from := max(at-before, 0)
	c.part("body of "+strconv.Itoa(len(here))+" bytes, from byte "+strconv.Itoa(from), string(here[from:]), string(there[from:]))
}

// differ notes a difference, with as much of the values as a line can hold.
func (c *comparison) differ(name, here, there string) {
	const longest = 200
	for _, value := range []*string{&here, &there} {
		if len(*value) > longest {
			*value = (*value)[:longest] + "…"
		}
	}
	c.differences = append(c.differences, fmt.Errorf("%s: the %s's %s is %s in the process, and would be %s over the broker",
		c.call, c.message, name, here, there))
}

// shown quotes a text and leaves a number as it is.
func shown(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(value)
}
