package bus

import (
	"errors"
	"net/http"

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// arriving are the responses to one request of which parts are still to come, by who sends them. What protects the slots
// of pending protects it, and it ends with the slot of its request.
type arriving map[peer]*arrivingResponse

// arrivingResponse is one of them.
type arrivingResponse struct {
	parts    *fragment.Reassembly // nil when it was given up: its other parts are passed over
	response wire.Response
	held     fragment.Reservation
}

// deliverPart takes a part of a response that has come as so many bytes. The last one, or one that ends the response
// early, brings the slot a response.
func (p *pending) deliverPart(part *wire.Response, size int) {
	if !p.takePart(part, size) {
		p.stranger(part)
	}
}

// takePart is false for what no caller waits for.
func (p *pending) takePart(part *wire.Response, size int) bool {
	at := p.shard(part.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	s := at.slots[part.MsgID]
	if s == nil || !s.expects(part) {
		return false
	}
	switch response, err := p.collectLocked(at, part, size); {
	case errors.Is(err, fragment.ErrRepeated):
		return false
	case err != nil:
		s.respond(p.lost(part, err))
	case response != nil:
		s.respond(response)
	default:
		s.acknowledge(part) // who has begun to answer is there, even if it has not acked
	}
	return true
}

// collectLocked returns a response when this part makes it whole. After an error other than errRepeated it cannot be had any
// more.
func (p *pending) collectLocked(at *shard, part *wire.Response, size int) (*wire.Response, error) {
	known, isNew := p.arrivingFromLocked(at, part)
	switch {
	case isNew:
		return nil, known.begin(part, size, p.limit)
	case known == nil || known.parts == nil:
		return nil, nil //nolint:nilnil // passed over
	}
	err := known.add(part, size)
	if errors.Is(err, fragment.ErrRepeated) || (err == nil && !known.parts.IsComplete()) {
		return nil, err
	}
	response, parts := known.response, known.parts
	known.giveUp()
	if err != nil {
		return nil, err
	}
	response.Body, response.Fragment = parts.Body(), wire.Fragment{}
	return &response, nil
}

// arrivingFromLocked returns the response that a part belongs to, nil when there are more than could be answered.
func (p *pending) arrivingFromLocked(at *shard, part *wire.Response) (known *arrivingResponse, isNew bool) {
	of, from := at.arriving[part.MsgID], senderOf(part)
	if of == nil {
		of = make(arriving)
		if at.arriving == nil {
			at.arriving = make(map[string]arriving)
		}
		at.arriving[part.MsgID] = of
	}
	if of[from] == nil && len(of) < maxResponders {
		of[from], isNew = &arrivingResponse{held: p.memory.Reserve("")}, true
	}
	return of[from], isNew
}

// begin takes the first part.
func (a *arrivingResponse) begin(part *wire.Response, size, limit int) error {
	if part.Fragment.Number != 1 {
		return status.Errorf(http.StatusBadGateway, status.ExecutedUnknown, nil, "part 1 of %d was lost on the way", part.Fragment.Count)
	}
	parts, err := fragment.NewReassembly(part.Fragment, part.Body, limit)
	if err != nil {
		return err
	}
	if err := a.held.Grow(2*size - len(part.Body)); err != nil { // the head is there twice
		return err
	}
	a.parts, a.response = parts, *part
	return nil
}

func (a *arrivingResponse) add(part *wire.Response, size int) error {
	if err := a.parts.Add(part.Fragment, part.Body); err != nil {
		return err
	}
	return a.held.Grow(size)
}

// giveUp frees what has come.
func (a *arrivingResponse) giveUp() {
	a.parts, a.response = nil, wire.Response{}
	a.held.Free()
}

// forgetLocked frees what has come for a request.
func (at *shard) forgetLocked(id string) {
	for _, response := range at.arriving[id] {
		response.giveUp()
	}
	delete(at.arriving, id)
}

// lost is what takes the place of a response that was on its way and cannot be had: it says so in the name of who sent
// it, which has handled the request.
func (p *pending) lost(part *wire.Response, why error) *wire.Response {
	failed := *status.Of(why)
	if failed.Status != http.StatusRequestEntityTooLarge && failed.RetryAfter == 0 {
		failed.Status = http.StatusBadGateway
	}
	failed.Executed = status.ExecutedYes
	failed.Detail = "the response cannot be received: " + failed.Detail
	failed.Host, failed.ID, failed.MsgID = part.FromHost, part.FromID, part.MsgID
	failed.RetryAfter = 0 // what has run is not to be tried again in a second
	response := p.encode(&failed)
	response.OpCode, response.FromHost, response.FromID, response.MsgID, response.Queue = part.OpCode, part.FromHost, part.FromID, part.MsgID, part.Queue
	return response
}
