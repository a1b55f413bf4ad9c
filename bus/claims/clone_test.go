package claims_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/busline/busline/bus/claims"
)

func TestClone(t *testing.T) {
	t.Parallel()
	made := func() claims.Claims {
		return claims.Claims{
			"sub": "ada", "level": 3.0, "id": json.Number("9007199254740993"), "active": true, "none": nil, "empty": []any{},
			"roles": []any{"hr", []any{"it"}}, "org": map[string]any{"team": "blue", "rooms": []any{1.0}},
		}
	}
	said := made()
	copied := said.Clone()
	if !reflect.DeepEqual(copied, said) {
		t.Errorf("the copy is %v", copied)
	}
	copied["sub"] = "eve"
	copied["roles"].([]any)[0] = "admin"
	copied["roles"].([]any)[1].([]any)[0] = "admin"
	copied["org"].(map[string]any)["team"] = "red"
	copied["org"].(map[string]any)["rooms"].([]any)[0] = 2.0
	if !reflect.DeepEqual(said, made()) {
		t.Errorf("a change of the copy made the claims %v", said)
	}
	if claims.Claims(nil).Clone() != nil {
		t.Error("the copy of no claims is some")
	}
}
