package bus

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus/subject"
)

// Who has an ack and waits asks the broker now and then whether the instance is still there: by a message without a
// body to its response subject, with a reply subject of its own. An instance that lives passes over the message. When it
// has died the broker has forgotten its subscriptions, and says on the reply subject that nobody is there.
//
// The first such word is not believed: it also comes about while an instance reconnects.
const (
	probeInterval = time.Second            // between two questions
	probeAgain    = 400 * time.Millisecond // between the first word of an absence and the next question
)

// vigil watches over the instances that owe one caller an answer. It is made when the first question is due, which few
// calls see. All but absent is called by the caller alone.
type vigil struct {
	conn *Conn
	news chan struct{} // room for one: the broker has said that somebody is not there

	mu    sync.Mutex // protects asked, and what it holds
	asked map[peer]*question
}

// question is what one instance was asked last. The token is its reply subject, as hard to guess as a message id.
type question struct {
	token   string
	absent  bool // what the broker has said
	suspect bool // what it has said the last time
}

func (c *Conn) newVigil() *vigil {
	return &vigil{conn: c, news: make(chan struct{}, 1), asked: make(map[peer]*question)}
}

// ask asks for each instance whether it is there. Those that it asked for the last time, and were, are no longer
// suspects.
func (v *vigil) ask(instances []peer) {
	for _, instance := range instances {
		// they are what a message has told, and become part of a subject
		if subject.ValidHost(instance.host) != nil || subject.ValidID(instance.id) != nil {
			continue
		}
		token := v.renew(instance)
		to := subject.Response(v.conn.plane, instance.host, instance.id)
		if v.conn.link.denies(to) {
			continue // the answer has to be waited for
		}
		if err := v.conn.link.publish(to, v.conn.nats.response+"."+token, nil); err != nil {
			v.conn.logger.Debug().Err(err).Str("callee", instance.id+"."+instance.host).Msg("cannot ask whether it lives")
		}
	}
}

// renew makes the token of the next question.
func (v *vigil) renew(instance peer) (token string) {
	token = rand.Text()
	v.mu.Lock()
	defer v.mu.Unlock()
	before, next := v.asked[instance], &question{token: token}
	if before != nil {
		v.conn.pending.unwatch(before.token)
		next.suspect = before.absent
	}
	v.asked[instance] = next
	v.conn.pending.watch(token, func() { v.absent(next) })
	return token
}

// absent takes the broker's answer, on the goroutine that reads it.
func (v *vigil) absent(to *question) {
	v.mu.Lock()
	to.absent = true
	v.mu.Unlock()
	select {
	case v.news <- struct{}{}:
	default:
	}
}

// review returns who is lost, and whether somebody else has to be asked again soon.
func (v *vigil) review() (lost []peer, suspects bool) {
	settling := v.conn.link.outage.recent() // many are back later than this process
	v.mu.Lock()
	defer v.mu.Unlock()
	for instance, asked := range v.asked {
		switch {
		case settling:
			asked.absent = false
		case asked.absent && asked.suspect:
			lost = append(lost, instance)
			v.forget(instance, asked)
		case asked.absent:
			suspects = true
		}
	}
	return lost, suspects
}

// forget ends a question. The lock is held.
func (v *vigil) forget(instance peer, asked *question) {
	v.conn.pending.unwatch(asked.token)
	delete(v.asked, instance)
}

// end forgets all questions. There may have been no vigil at all.
func (v *vigil) end() {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for instance, asked := range v.asked {
		v.forget(instance, asked)
	}
}

// bad returns the channel of news, nil when there is no vigil.
func (v *vigil) bad() <-chan struct{} {
	if v == nil {
		return nil
	}
	return v.news
}

// instanceLost is the error for an instance that has acked and is gone. It is a 504, as when no answer comes in time: the
// request has been taken, and may have run, which 503 would deny to whoever sees nothing but the status.
func instanceLost(gone peer, msgID string) *Error {
	failed := newError(http.StatusGatewayTimeout, ExecutedUnknown, ErrInstanceLost,
		"%s.%s took the call, and is gone", gone.id, gone.host)
	failed.Host, failed.ID, failed.MsgID = gone.host, gone.id, msgID
	return failed
}
