package trace

import (
	"encoding/json"
	"net/http"

	"github.com/busline/busline/bus"
)

// Limits of an answer.
const (
	maxCallsOfInstance = 2000
	maxAnswerBytes     = 4 << 20
)

// answer is what an instance answers.
type answer struct {
	Calls []Call `json:"calls"` // the oldest first
	More  int    `json:"more"`  // how many are left out
}

// serve answers GET :888/trace?id= with the calls of a trace.
func (r *recorder) serve(w http.ResponseWriter, request *http.Request) error {
	id := request.URL.Query().Get("id")
	if !isID(id) {
		return bus.Errorf(http.StatusBadRequest, "the query has no id of a trace: send ?id= and 32 hexadecimal digits")
	}
	if r.rule.IsSet() || r.verifies {
		if err := r.rule.Check(request.Context(), "the instance", "see its calls"); err != nil {
			return err
		}
	}
	body, err := json.Marshal(r.callsOf(id))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(body)
	return err
}

// callsOf returns the calls of a trace.
func (r *recorder) callsOf(id string) answer {
	found := answer{Calls: []Call{}}
	for _, from := range []*ring{r.notable, r.recent} {
		from.each(func(record []byte) {
			switch {
			case !isOf(record, id):
			case len(found.Calls) == maxCallsOfInstance:
				found.More++
			default:
				found.Calls = append(found.Calls, readCall(record, r.host, r.id))
			}
		})
	}
	return found
}
