package reflectapi

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// CheckNames returns how a production build of a service would differ from this one: names and doc comments that are
// available only from source files on disk or from debug information, comments that would then come from another
// source, and signature tables or embedded source that are out of date. The error joins one line for each difference;
// it is nil if there is none. If the service cannot be described even in this build, it returns the error of Describe.
//
// iface is the interface that describes the service; nil stands for all methods of impl. options are those with which
// the service is described. Call it from a test: an outdated copy can be detected only where the source files are.
// Names given in code are taken to be correct, and are not compared.
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

// nameCheck compares a service as described in this build (here) with its description in a production build (there).
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

// method compares one method. If a copy is out of date only that is reported, because other differences follow from it.
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

// otherDoc says where a comment comes from in this build and in production, and how to correct that.
func (k *nameCheck) otherDoc(here, there string) string {
	text := fmt.Sprintf("its doc comment comes from the %s, which production may not have", here)
	if there != "" {
		text = fmt.Sprintf("its doc comment comes from the %s, but in production from the %s, which has another", here, there)
	}
	return text + ": " + k.docRemedy()
}

// docRemedy says how to include doc comments in every build.
func (k *nameCheck) docRemedy() string {
	const embed = "embed the source with bus.SourceFS"
	switch t := k.here.as; {
	case t.Kind() != reflect.Interface:
		return embed
	case k.here.naming.tables.of(t) != nil:
		return fmt.Sprintf("write it in %s and run go generate, or %s", plainName(t), embed)
	default:
		return fmt.Sprintf("write a signature table with apigen -type %s, or %s", plainName(t), embed)
	}
}
