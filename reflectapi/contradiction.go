package reflectapi

import (
	"fmt"
	"math"
	"reflect"
)

// contradictions finds limits that leave no value at all, which nobody means: every call would be answered 422. The
// schema has what the width of its Go type implies, too.
func (c *converter) contradictions(out *Schema, t reflect.Type) {
	c.crossed("minLength", out.MinLength, "maxLength", out.MaxLength)
	c.crossed("minItems", out.MinItems, "maxItems", out.MaxItems)
	c.crossed("minProperties", out.MinProperties, "maxProperties", out.MaxProperties)
	if out.Minimum == nil || out.Maximum == nil || holdsNumber(out) {
		return
	}
	low, high := limitText("minimum", *out.Minimum, out.ExclusiveMinimum), limitText("maximum", *out.Maximum, out.ExclusiveMaximum)
	if t != nil {
		lowest, highest := rangeOf(t)
		if lowest != nil && *lowest == *out.Minimum {
			low = fmt.Sprintf("the lowest %v, %s,", t, decimal(*lowest))
		}
		if highest != nil && *highest == *out.Maximum {
			high = fmt.Sprintf("the highest %v, %s,", t, decimal(*highest))
		}
	}
	c.noneBetween(low, high)
}

// crossed compares limits of a length or a number of elements.
func (c *converter) crossed(least string, low *uint64, most string, high *uint64) {
	if low != nil && high != nil && *low > *high {
		c.noneBetween(fmt.Sprintf("%s=%d", least, *low), fmt.Sprintf("%s=%d", most, *high))
	}
}

func (c *converter) noneBetween(low, high string) {
	c.failf("%s and %s leave no value that fits: change one of them", low, high)
}

// holdsNumber reports whether there is a number, or with the type integer a whole one, between the limits.
func holdsNumber(s *Schema) bool {
	low, high := *s.Minimum, *s.Maximum
	if s.Type != "integer" {
		return low < high || low == high && !s.ExclusiveMinimum && !s.ExclusiveMaximum
	}
	first, last := math.Ceil(low), math.Floor(high)
	if s.ExclusiveMinimum {
		first = math.Floor(low) + 1
	}
	if s.ExclusiveMaximum {
		last = math.Ceil(high) - 1
	}
	return first <= last
}

// limitText writes a limit as in a tag.
func limitText(keyword string, limit float64, exclusive bool) string {
	switch {
	case exclusive && keyword == "minimum":
		keyword = "exclusiveMinimum"
	case exclusive:
		keyword = "exclusiveMaximum"
	}
	return keyword + "=" + decimal(limit)
}
