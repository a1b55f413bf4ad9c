package reflectapi

import (
	"fmt"
	"reflect"
)

// oneWays warns of types in arguments that write their JSON themselves but do not read it, or read it but do not write it. The
// document has what is written, or else the kind of the type, so that callers who do as it says are refused.
func (s *survey) oneWays() (warnings []string) {
	seen, judged := map[reflect.Type]bool{}, map[reflect.Type]bool{}
	for _, c := range s.candidates {
		for _, t := range c.shape.args {
			eachType(t, seen, func(t reflect.Type) {
				t = base(t) // a pointer has the methods, too
				if missing, does := oneWay(t); missing != "" && !judged[t] {
					judged[t] = true
					warnings = append(warnings, fmt.Sprintf("type %v: it %s itself without a method %sText or %sJSON, so that callers who send what the document says get 400: add one", t, does, missing, missing))
				}
			})
		}
	}
	return warnings
}

// oneWay says which half of the methods a type lacks, and what the other half does. A type that describes itself knows what it
// does.
func oneWay(t reflect.Type) (missing, does string) {
	writes, reads := writesJSON(t) || writesText(t), readsItself(t)
	switch {
	case describesItself(t) || writes == reads:
		return "", ""
	case writes:
		return "Unmarshal", "writes"
	}
	return "Marshal", "reads"
}
