package msgsvc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

// internalPort is where the replicas of a service ask one another. The ingress does not lead there.
const internalPort = 444

// replicaTimeout bounds how long one replica waits for others, so that one that hangs does not cost a caller all
// of its time.
const replicaTimeout = 5 * time.Second

// askAll puts a question to every replica, this one included, and yields what each answers.
func askAll[Answer any](ctx context.Context, s *sharedCache, endpoint string,
	question bus.Args) iter.Seq2[Answer, error] {
	return func(yield func(answer Answer, err error) bool) {
		ctx, cancel := context.WithTimeout(ctx, replicaTimeout)
		defer cancel()
		request, err := newQuestion(ctx, s.conn.Host(), endpoint, question)
		if err != nil {
			yield(*new(Answer), err)
			return
		}
		answered := make(map[string]struct{})
		for response, err := range s.conn.Multicast(request) {
			answer, err := answerOf[Answer](response, err)
			if err == nil {
				answered[idOf(response)] = struct{}{}
				s.peers.met(idOf(response))
			}
			if !yield(answer, err) {
				return
			}
		}
		for _, id := range s.peers.except(answered) {
			answer, err := askOne[Answer](ctx, s, id, endpoint, question)
			if isGone(err) || isUnheard(err) {
				s.peers.lost(id)
			}
			if !isGone(err) && !yield(answer, err) {
				return
			}
		}
	}
}

// askOne puts a question to one replica.
func askOne[Answer any](ctx context.Context, s *sharedCache, id, endpoint string,
	question bus.Args) (answer Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, replicaTimeout)
	defer cancel()
	err = s.conn.Call(ctx, internalURL(id+"."+s.conn.Host(), endpoint), question, &answer)
	return answer, err
}

func internalURL(host, endpoint string) string {
	return fmt.Sprintf("https://%s:%d%s", host, internalPort, endpoint)
}

func newQuestion(ctx context.Context, host, endpoint string, question bus.Args) (*http.Request, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("ask the replicas: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, internalURL(host, endpoint), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the replicas: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}

func answerOf[Answer any](response *http.Response, err error) (answer Answer, _ error) {
	body, err := bodyOf(response, err)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, bus.Errorf(http.StatusBadGateway, "replica %s answers something else: %w", idOf(response), err)
	}
	return answer, nil
}

// bodyOf returns the body of a response; one that reports a failure becomes an error with the same status.
func bodyOf(response *http.Response, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode < http.StatusBadRequest {
		return body, err
	}
	var problem struct {
		Detail string `json:"detail"`
	}
	_ = json.Unmarshal(body, &problem) // what is not a problem+json has no detail
	return nil, &bus.Error{
		Status: response.StatusCode, Detail: problem.Detail,
		Host: response.Header.Get("Bus-From-Host"), ID: idOf(response), Executed: bus.ExecutedYes,
	}
}

// idOf returns the ID of the instance that answered.
func idOf(response *http.Response) string { return response.Header.Get("Bus-From-Id") }

// peers are the replicas that this one knows, itself included. A multicast ends when no other replica has turned up for
// a moment; on a busy machine that can be before a slow replica has. A replica that is known and did not answer is
// asked alone.
type peers struct {
	mu  sync.Mutex // protects ids
	ids map[string]struct{}
}

func newPeers() *peers { return &peers{ids: make(map[string]struct{})} }

func (p *peers) met(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids[id] = struct{}{}
}

// metCaller adds the caller: only replicas ask.
func (p *peers) metCaller(ctx context.Context) {
	if caller, ok := bus.CallerOf(ctx); ok {
		p.met(caller.ID)
	}
}

func (p *peers) lost(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ids, id)
}

// except returns all but those that answered.
func (p *peers) except(answered map[string]struct{}) (missing []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.ids {
		if _, ok := answered[id]; !ok {
			missing = append(missing, id)
		}
	}
	return missing
}

// isGone distinguishes a replica that has left, as the broker reports, from one that is slow.
func isGone(err error) bool { return errors.Is(err, bus.ErrNoResponder) }

// isUnheard reports whether a replica may have left or may be slow: while a client listens to all of the plane the
// broker finds a subscriber for every question. It has failed this question; a later one is not put to it alone again,
// as it may never answer. If it is there after all, it is met when it asks, or answers a multicast.
func isUnheard(err error) bool { return errors.Is(err, bus.ErrNoAck) }
