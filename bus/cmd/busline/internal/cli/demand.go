package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// demands returns for people what a schema demands of a value in addition to its type: "1 to 200 characters", "pattern
// \S".
func (d schemas) demands(schema *reflectapi.Schema) (all []string) {
	s := d.resolve(schema)
	if choices := choicesOf(s); choices != "" {
		all = append(all, choices)
	}
	if of := numberRange(s); of != "" {
		all = append(all, of)
	}
	if s.MultipleOf != nil {
		all = append(all, "a multiple of "+figure(*s.MultipleOf))
	}
	for _, counted := range []struct {
		least, most *uint64
		noun        string
	}{{s.MinLength, s.MaxLength, "character"}, {s.MinItems, s.MaxItems, "item"}, {s.MinProperties, s.MaxProperties, "member"}} {
		if of := countRange(counted.least, counted.most, counted.noun); of != "" {
			all = append(all, of)
		}
	}
	if s.UniqueItems {
		all = append(all, "no duplicates")
	}
	if d.kind(schema) == typeArray && d.kind(s.Items) != typeArray {
		if each := d.demands(s.Items); each != nil {
			all = append(all, "each "+strings.Join(each, ", "))
		}
	}
	if s.Pattern != "" { // last, because it may contain commas
		all = append(all, "pattern "+cleanLine(s.Pattern))
	}
	return all
}

// choicesOf formats an enumeration: "one of box, bag".
func choicesOf(s *reflectapi.Schema) string {
	if len(s.Enum) == 0 {
		return ""
	}
	texts := make([]string, len(s.Enum))
	for i, each := range s.Enum {
		texts[i] = cleanLine(fmt.Sprint(each))
		if each == nil {
			texts[i] = "null"
		}
	}
	return "one of " + strings.Join(texts, ", ")
}

// numberRange formats the range of a number.
func numberRange(s *reflectapi.Schema) string {
	switch least, most := s.Minimum, s.Maximum; {
	case least != nil && most != nil && !s.ExclusiveMinimum && !s.ExclusiveMaximum:
		return figure(*least) + " to " + figure(*most)
	case least != nil && most != nil:
		return bound(least, s.ExclusiveMinimum, "more than", "at least") + ", " + bound(most, s.ExclusiveMaximum, "less than", "at most")
	case least != nil:
		return bound(least, s.ExclusiveMinimum, "more than", "at least")
	default:
		return bound(most, s.ExclusiveMaximum, "less than", "at most")
	}
}

// bound formats one end of a range, "" if there is none.
func bound(at *float64, exclusive bool, without, with string) string {
	switch {
	case at == nil:
		return ""
	case exclusive:
		return without + " " + figure(*at)
	default:
		return with + " " + figure(*at)
	}
}

// figure formats a number for people.
func figure(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }

// countRange formats a range of counts: "1 to 20 items".
func countRange(least, most *uint64, noun string) string {
	many := func(count uint64) string {
		if count == 1 {
			return "1 " + noun
		}
		return strconv.FormatUint(count, 10) + " " + noun + "s"
	}
	switch {
	case least != nil && most != nil && *least == *most:
		return many(*most)
	case least != nil && most != nil:
		return strconv.FormatUint(*least, 10) + " to " + many(*most)
	case least != nil:
		return "at least " + many(*least)
	case most != nil:
		return "at most " + many(*most)
	default:
		return ""
	}
}
