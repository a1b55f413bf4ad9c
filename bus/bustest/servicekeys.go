package bustest

import (
	"path/filepath"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/signing"
)

// ServiceKeys are the keys with which the services of a test prove who they are.
type ServiceKeys struct{ private, public string }

// NewServiceKeys makes a key for each host. A connection with both Prove and Trust proves its host, and knows which
// callers are proven:
//
//	keys := bustest.NewServiceKeys(t, "orders.example", "payroll.example")
//	conn := b.Connect("payroll.example", keys.Prove(), keys.Trust())
func NewServiceKeys(t testing.TB, hosts ...string) *ServiceKeys {
	t.Helper()
	folder := t.TempDir()
	keys := &ServiceKeys{filepath.Join(folder, "private.json"), filepath.Join(folder, "public.json")}
	signers := make([]*signing.Key, len(hosts))
	for i, host := range hosts {
		var err error
		if signers[i], err = signing.New(host); err != nil {
			t.Fatalf("bustest: %v", err)
		}
	}
	if err := signing.WritePrivate(keys.private, signers...); err != nil {
		t.Fatalf("bustest: %v", err)
	}
	if err := signing.WriteKeySet(keys.public, signers...); err != nil {
		t.Fatalf("bustest: %v", err)
	}
	return keys
}

// Prove returns the option of a connection that proves its host, which has to be one of those with a key.
func (k *ServiceKeys) Prove() bus.ConnectOption { return bus.WithServiceKey(k.private) }

// Trust returns the option of a connection that verifies the proofs of its callers.
func (k *ServiceKeys) Trust() bus.ConnectOption { return bus.WithServiceKeySet(k.public) }
