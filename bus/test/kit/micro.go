package kit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// CalculatorName is the calculator's name as a service of NATS.
const CalculatorName = "calculator-example"

// Operator asks as "nats micro" does.
type Operator struct {
	T *testing.T
	*nats.Conn
}

// Ask returns all that is answered to a subject. A service answers in the order in which it is asked, so that nothing
// more comes once each of those that are there has also answered to its own name. A word that no instance is there has
// no data.
func (o *Operator) Ask(subject string, there ...*bus.Conn) (answers [][]byte) {
	o.T.Helper()
	inbox, messages := nats.NewInbox(), make(chan *nats.Msg, 1024)
	subscription, err := o.ChanSubscribe(inbox+".*", messages)
	require.NoError(o.T, err)
	defer func() { _ = subscription.Unsubscribe() }()
	o.Say(subject, inbox+".answer", "")
	for _, conn := range there {
		o.Say("$SRV.PING."+strings.ReplaceAll(conn.Host(), ".", "-")+"."+conn.ID(), inbox+".end", "")
	}
	for ends := 0; ends < len(there) || len(there) == 0 && len(answers) == 0; {
		answer := Await(o.T, subject, messages)
		if strings.HasSuffix(answer.Subject, ".end") {
			ends++
		} else {
			answers = append(answers, answer.Data)
		}
	}
	return answers
}

// Say publishes a message.
func (o *Operator) Say(subject, reply, body string) {
	o.T.Helper()
	require.NoError(o.T, o.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: []byte(body)}))
}

// IsAbsent reports whether the broker reports that no instance is asked by a subject.
func (o *Operator) IsAbsent(subject string) bool {
	o.T.Helper()
	answers := o.Ask(subject)
	return len(answers[0]) == 0
}

// IDs returns who answers to a subject, sorted.
func (o *Operator) IDs(subject string, there ...*bus.Conn) []string {
	o.T.Helper()
	var ids []string
	for _, answer := range o.Ask(subject, there...) {
		ids = append(ids, Decode[micro.Ping](o.T, answer).ID)
	}
	return slices.Sorted(slices.Values(ids))
}

// Decode refuses what the type does not have.
func Decode[Answer any](t *testing.T, answer []byte) (decoded Answer) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(answer))
	if _, isPing := any(decoded).(micro.Ping); !isPing { // which is in all of them
		decoder.DisallowUnknownFields()
	}
	if err := decoder.Decode(&decoded); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	return decoded
}
