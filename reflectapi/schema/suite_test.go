//go:build npm

package schema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
)

// suiteGroup is a schema of the JSON Schema Test Suite, with its tests.
type suiteGroup struct {
	Description string
	Schema      any
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// suiteValue is a value of which a schema of the suite says what is valid. suiteSchema is that schema.
type suiteValue struct{ json.RawMessage }

var suiteSchema *jsonschema.Schema

func (suiteValue) JSONSchema() *jsonschema.Schema { return suiteSchema }

// TestSuite holds what is enforced of schemas that types give themselves against the JSON Schema Test Suite. SUITES is
// a list of directories, each of one draft. What differs is in suiteDifferences. The numbers that agree are in decision
// 25.
func TestSuite(t *testing.T) {
	roots := filepath.SplitList(os.Getenv("SUITES"))
	require.NotEmpty(t, roots,
		"SUITES is not set: set it to directories of the JSON Schema Test Suite, one for each draft")
	found := map[string]bool{}
	for _, root := range roots {
		t.Run(filepath.Base(root), func(t *testing.T) { runSuite(t, root, found) })
	}
	for _, listed := range slices.Sorted(maps.Keys(suiteDifferences)) {
		if !found[listed] {
			t.Errorf("%s is listed, but differs no longer: remove it from suiteDifferences", listed)
		}
	}
}

// runSuite runs the tests of a draft, and adds what differs to found.
func runSuite(t *testing.T, root string, found map[string]bool) {
	t.Helper()
	counts, run := map[string]int{}, 0
	for _, file := range suiteFiles(t, root) {
		name := strings.TrimSuffix(file, ".json")
		for _, group := range suiteGroups(t, filepath.Join(root, file)) {
			constraints, err := suiteConstraints(group.Schema)
			for _, test := range group.Tests {
				run++
				at := name + "/" + group.Description + "/" + test.Description
				got := err
				if err == nil {
					got = suiteCheck(constraints, test.Data)
				}
				if err == nil && test.Valid == (got == nil) {
					counts["agree"]++
					continue
				}
				listed := suiteListed(name, group.Description, test.Description)
				found[listed] = true
				counts[suiteDifferences[listed]]++
				if listed == "" {
					t.Errorf("%s: %s is valid: %v, but got: %v", at, test.Data, test.Valid, got)
				}
			}
		}
	}
	t.Logf("%d tests: %v", run, counts)
}

// suiteListed returns the key of suiteDifferences under which a test, its group or its file is, "" for none.
func suiteListed(file, group, test string) string {
	for _, key := range []string{file + "/" + group + "/" + test, file + "/" + group, file} {
		if _, listed := suiteDifferences[key]; listed {
			return key
		}
	}
	return ""
}

// suiteFiles returns the files of a draft.
func suiteFiles(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.json", "optional/*.json"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, file := range found {
			name, err := filepath.Rel(root, file)
			require.NoError(t, err)
			files = append(files, filepath.ToSlash(name))
		}
	}
	require.NotEmpty(t, files, "no tests in "+root)
	return files
}

func suiteGroups(t *testing.T, file string) (groups []suiteGroup) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&groups), file)
	return groups
}

// suiteConstraints returns the constraints of a type with a schema of the suite.
func suiteConstraints(described any) (constraints *schema.Constraints, err error) {
	data, err := json.Marshal(suiteTranscribed(described))
	if err != nil {
		return nil, err
	}
	suiteSchema = new(jsonschema.Schema)
	if err := json.Unmarshal(data, suiteSchema); err != nil {
		return nil, fmt.Errorf("it cannot be written: %w", err)
	}
	return schema.ConstraintsOf(reflect.TypeFor[suiteValue]())
}

// suiteCheck checks a value as a server does.
func suiteCheck(constraints *schema.Constraints, data []byte) error {
	var value any
	if err := strictjson.Unmarshal(data, &value); err != nil || constraints == nil {
		return err
	}
	if found := constraints.CheckJSON(value); len(found) > 0 {
		return fmt.Errorf("%v", found)
	}
	return nil
}

// suiteTranscribed rewrites a schema in the words of 2020-12 that a jsonschema.Schema has.
func suiteTranscribed(schema any) any {
	s, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	out := map[string]any{}
	for keyword, value := range s {
		switch keyword {
		case "items":
			if _, isList := value.([]any); isList {
				keyword = "prefixItems"
			}
			out[keyword] = suiteEach(value)
		case "allOf", "anyOf", "oneOf", "not", "additionalProperties":
			out[keyword] = suiteEach(value)
		case "definitions":
			out["$defs"] = suiteMembers(value)
		case "properties", "patternProperties":
			out[keyword] = suiteMembers(value)
		case "$ref":
			if ref, isText := value.(string); isText {
				value = strings.Replace(ref, "#/definitions/", "#/$defs/", 1)
			}
			out[keyword] = value
		case "exclusiveMinimum", "exclusiveMaximum":
			switch of := strings.ToLower(strings.TrimPrefix(keyword, "exclusive")); value { // a number since draft 6
			case true:
				out[keyword] = s[of]
			case false:
			default:
				out[keyword] = value
			}
		default:
			out[keyword] = value
		}
	}
	if types, isList := s["type"].([]any); isList {
		var choices []any
		for _, typ := range types {
			choices = append(choices, map[string]any{"type": typ})
		}
		delete(out, "type")
		return map[string]any{"allOf": []any{out, map[string]any{"anyOf": choices}}}
	}
	return out
}

// suiteEach transcribes a schema, or each of a list.
func suiteEach(value any) any {
	list, isList := value.([]any)
	if !isList {
		return suiteTranscribed(value)
	}
	out := make([]any, len(list))
	for i := range list {
		out[i] = suiteTranscribed(list[i])
	}
	return out
}

// suiteMembers transcribes the schemas in an object.
func suiteMembers(value any) any {
	members, isObject := value.(map[string]any)
	if !isObject {
		return value
	}
	out := map[string]any{}
	for name, member := range members {
		out[name] = suiteTranscribed(member)
	}
	return out
}

// Why tests differ.
const (
	unknown  = "a jsonschema.Schema cannot say it"
	leftOut  = "left out, and warned of: OpenAPI 3.0.0 cannot say it"
	remote   = "a reference elsewhere than to $defs allows anything, and is warned of"
	notHeld  = "a format that is not checked"
	refused  = "refused: a default has to fit its schema"
	outdated = "the suite of later drafts says otherwise"
	rounded  = "a float is a multiple if a multiple rounds to it"
)

// suiteDifferences has what differs, and why: a test, or the tests of a group or a file.
var suiteDifferences = map[string]string{
	"additionalItems":                                                                unknown,
	"const/const with null":                                                          unknown,
	"dependencies":                                                                   unknown,
	"maxItems/" + inDecimals("maxItems"):                                             unknown,
	"maxLength/" + inDecimals("maxLength"):                                           unknown,
	"maxProperties/" + inDecimals("maxProperties"):                                   unknown,
	"minItems/" + inDecimals("minItems"):                                             unknown,
	"minLength/" + inDecimals("minLength"):                                           unknown,
	"minProperties/" + inDecimals("minProperties"):                                   unknown,
	"uniqueItems/uniqueItems with an array of items and additionalItems=false":       unknown,
	"uniqueItems/uniqueItems=false with an array of items and additionalItems=false": unknown,

	"contains":                            leftOut,
	"if-then-else":                        leftOut,
	"propertyNames":                       leftOut,
	"items/an array of schemas for items": leftOut,
	"items/items and subitems":            leftOut,
	"items/items with boolean schemas":    leftOut,
	"patternProperties":                   leftOut,
	// but for patternProperties
	"additionalProperties/additionalProperties being false does not allow other properties": leftOut,
	"additionalProperties/non-ASCII pattern with additionalProperties":                      leftOut,
	"properties/properties, patternProperties, additionalProperties interaction":            leftOut,

	"definitions":                                                                remote,
	"ref/root pointer ref":                                                       remote,
	"ref/relative pointer ref to object":                                         remote,
	"ref/relative pointer ref to array":                                          remote,
	"ref/remote ref, containing refs itself":                                     remote,
	"ref/escaped pointer ref":                                                    remote,
	"ref/$ref prevents a sibling $id from changing the base uri":                 remote,
	"ref/Recursive references between schemas":                                   remote,
	"ref/Location-independent identifier":                                        remote,
	"ref/Reference an anchor with a non-relative URI":                            remote,
	"ref/Location-independent identifier with base URI change in subschema":      remote,
	"ref/refs with relative uris and defs":                                       remote,
	"ref/relative refs with absolute uris and defs":                              remote,
	"ref/$id must be resolved against nearest parent, not just immediate parent": remote,
	"ref/simple URN base URI with $ref via the URN":                              remote,
	"ref/URN base URI with URN and JSON pointer ref":                             remote,
	"ref/URN base URI with URN and anchor ref":                                   remote,
	"ref/ref to if":                         remote,
	"ref/ref to then":                       remote,
	"ref/ref to else":                       remote,
	"ref/ref with absolute-path-reference":  remote,
	"ref/empty tokens in $ref json-pointer": remote,
	"refRemote":                             remote,

	"default":                                  refused,
	"multipleOf/float division = inf":          rounded,
	"optional/format/validation of host names": notHeld,
	"optional/format/validation of URIs/a valid protocol-relative URI": outdated,
	"optional/zeroTerminatedFloats":                                    outdated,
}

func inDecimals(keyword string) string { return keyword + " validation with a decimal" }
