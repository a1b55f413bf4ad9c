package restmap

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Limits of dotted names in forms.
const (
	maxParts    = 32     // names between dots
	maxElements = 1000   // of one list
	maxAllLists = 10_000 // elements of all lists of a form together
)

// formPart is what one name of a form refers to: a whole argument, or a part after a dot.
type formPart struct {
	typ       reflect.Type
	list      bool                // its name may be repeated
	decodable bool                // gorilla/schema decodes its texts
	indexed   bool                // a list of structs, whose parts follow an index
	keyed     bool                // a map, with a key after the dot
	parts     map[string]formPart // the names allowed after a dot; nil if there are none
	hindrance string              // the way to the member because of which there are none, if it is one, see [hindrance]
}

// follow resolves the names after an argument's dot: "x", "0.sku", "child.name". It returns the last part, and whether
// all names are known.
func (p formPart) follow(argument, behind string, lists *listSizes) (formPart, bool, error) {
	if strings.Count(behind, ".") >= maxParts {
		return p, false, fmt.Errorf("has more than %d parts", maxParts)
	}
	names := strings.Split(behind, ".")
	for i, name := range names {
		switch {
		case p.parts == nil:
			return p, false, p.indivisible(argument, strings.Join(append([]string{argument}, names[:i]...), "."))
		case p.indexed:
			if err := lists.grow(argument+"."+strings.Join(names[:i], "."), name); err != nil {
				return p, false, err
			}
			p.indexed = false
		default:
			next, known := p.parts[name]
			if !known {
				return p, false, nil
			}
			p = next
		}
	}
	if !p.decodable {
		return p, false, errors.New("is not a plain value; write " + argument + " as one JSON value")
	}
	return p, true, nil
}

// indivisible says what to send instead of a name with a dot after this part. After a plain value no names are known,
// and unknown names are ignored.
func (p formPart) indivisible(argument, name string) error {
	switch {
	case p.list:
		return errors.New("is not the name of an element; repeat " + name)
	case isText(p.typ):
		return nil
	}
	because := ""
	if p.hindrance != "" {
		because = ", because of " + name + "." + p.hindrance
	}
	return errors.New("cannot be given in parts" + because + "; write " + argument + " as one JSON value")
}

// listSizes counts the lengths that indexes give to the lists of a form.
type listSizes struct {
	sizes map[string]int // by the name before the index
	total int
}

// grow records that the list of this name has an element at an index.
func (l *listSizes) grow(list, index string) error {
	i, err := strconv.ParseUint(index, 10, 31)
	if err != nil || strconv.FormatUint(i, 10) != index {
		return errors.New("needs an index after the list's name, as in 0.name")
	}
	if i >= maxElements {
		return fmt.Errorf("has an index above %d", maxElements-1)
	}
	if l.sizes == nil {
		l.sizes = make(map[string]int)
	}
	if more := int(i) + 1 - l.sizes[list]; more > 0 {
		l.sizes[list] += more
		l.total += more
	}
	if l.total > maxAllLists {
		return fmt.Errorf("makes the lists of the form hold more than %d elements", maxAllLists)
	}
	return nil
}
