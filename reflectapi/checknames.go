package reflectapi

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// CheckNames says what a production build of a service would lack, or have otherwise than
// this one: names and doc comments that are known only from the source on disk or from debug
// information, comments that come from elsewhere then, and a signature table or embedded
// source that is out of date. It is one joined error with a line for each, or nil when all is
// well. What cannot be described even here is the error of Describe.
//
// iface is the interface that describes the service; nil stands for all methods of impl.
// options are those that the service is described with. The place for it is a test: what is
// out of date is seen only where the source is. Names that are given in code are right by
// definition, and compared with nothing.
func CheckNames(iface reflect.Type, impl any, options ...Option) error {
	here, err := surveyAs(iface, impl, options)
	if err != nil {
		return err
	}
	if _, err := here.service(); err != nil {
		return err
	}
	there, err := surveyAs(iface, impl, append(slices.Clone(options), Portable()))
	if err != nil {
		return err
	}
	check := &nameCheck{here: here, there: there}
	check.comment()
	for i, c := range here.candidates {
		check.method(c, there.candidates[i])
	}
	return errors.Join(check.findings...)
}

// nameCheck compares a service as it is described here with what production has of it.
type nameCheck struct {
	here, there *survey
	findings    []error
}

// comment compares the doc comments of the service's type.
func (k *nameCheck) comment() {
	if thing, stale := k.here.staleType(); len(stale) > 0 {
		k.find(thing, stale...)
		return
	}
	doc, origin := k.here.comment()
	thereDoc, thereOrigin := k.there.comment()
	if doc != thereDoc {
		k.find("type "+plainName(base(k.here.as)), k.otherDoc(origin, thereOrigin))
	}
}

// method compares one method. Where a copy is out of date, all else follows from that, and
// is not told.
func (k *nameCheck) method(here, there *candidate) {
	thing := "method " + here.name
	if stale := k.here.staleMethod(here); len(stale) > 0 {
		k.find(thing, stale...)
		return
	}
	m, err := k.here.method(here)
	if err != nil {
		k.find(thing, err.Error())
		return
	}
	production, err := k.there.method(there)
	missing, isMissing := errors.AsType[missingNamesError](err)
	switch {
	case isMissing:
		k.find(thing, missing.inProduction())
	case err != nil:
		k.find(thing, err.Error())
	case m.Doc != production.Doc:
		k.find(thing, k.otherDoc(m.DocOrigin, production.DocOrigin))
	}
}

func (k *nameCheck) find(thing string, what ...string) {
	for _, each := range what {
		k.findings = append(k.findings, fmt.Errorf("%s: %s", thing, each))
	}
}

// otherDoc says where a comment comes from, here and in production, and how to mend that.
func (k *nameCheck) otherDoc(here, there string) string {
	text := fmt.Sprintf("its doc comment comes from the %s, which production may not have", here)
	if there != "" {
		text = fmt.Sprintf("its doc comment comes from the %s, but in production from the %s, which has another", here, there)
	}
	return text + ": " + k.docRemedy()
}

// docRemedy says what brings doc comments into every build.
func (k *nameCheck) docRemedy() string {
	const embed = "embed the source with bus.Source"
	switch t := k.here.as; {
	case t.Kind() != reflect.Interface:
		return embed
	case k.here.naming.tables.of(t) != nil:
		return fmt.Sprintf("write it in %s and run go generate, or %s", plainName(t), embed)
	default:
		return fmt.Sprintf("write a signature table with apigen -type %s, or %s", plainName(t), embed)
	}
}
