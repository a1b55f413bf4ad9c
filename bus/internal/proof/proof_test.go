package proof_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/proof"
	"github.com/busline/busline/bus/internal/signing"
	"github.com/busline/busline/bus/wire"
)

const callee = "stock.example"

// newPair returns the prover of an instance of orders.example, a verifier of stock.example, and a request with a proof.
func newPair(t testing.TB) (*proof.Prover, *proof.Verifier, *wire.Request) {
	t.Helper()
	folder := t.TempDir()
	key, err := signing.New("orders.example")
	require.NoError(t, err)
	private, public := filepath.Join(folder, "private"), filepath.Join(folder, "public")
	require.NoError(t, signing.WritePrivate(private, key))
	require.NoError(t, signing.WriteKeySet(public, key))
	prover, err := proof.NewProver(private, "orders.example", "o1aaaaaaaa", "bus")
	require.NoError(t, err)
	verifier, err := proof.Open(t.Context(), public, "s1aaaaaaaa", "bus", zerolog.Nop())
	require.NoError(t, err)
	t.Cleanup(verifier.Close)
	text, err := prover.For(callee, 443, time.Now())
	require.NoError(t, err)
	return prover, verifier, &wire.Request{FromHost: "orders.example", FromID: "o1aaaaaaaa", CallerProof: text}
}

// TestProver_OnceAMinute holds that a proof is made once a minute for each host, and that hosts which come and go take
// no memory for good.
func TestProver_OnceAMinute(t *testing.T) {
	t.Parallel()
	prover, _, request := newPair(t)
	now := time.Now()
	again := func(host string, after time.Duration) string {
		text, err := prover.For(host, 443, now.Add(after))
		require.NoError(t, err)
		return text
	}
	assert.Equal(t, request.CallerProof, again(callee, 50*time.Second))
	other := again("other.example", 0)
	assert.NotEqual(t, request.CallerProof, other)
	assert.NotEqual(t, request.CallerProof, again(callee, 61*time.Second))
	for i := range 1100 { // more than are kept
		again(fmt.Sprintf("host%d.example", i), 62*time.Second)
	}
	assert.NotEqual(t, other, again("other.example", 62*time.Second))
}

// TestVerifier_Remembers holds that a proof which was verified costs no memory, and counts for its sender and its host
// alone.
func TestVerifier_Remembers(t *testing.T) {
	prover, verifier, request := newPair(t)
	now := time.Now()
	allocations := testing.AllocsPerRun(100, func() {
		text, err := prover.For(callee, 443, now)
		if err != nil || verifier.Verify(t.Context(), request, callee, 443, now) != nil || text != request.CallerProof {
			t.Fatal(err)
		}
	})
	assert.Zero(t, allocations)
	require.ErrorContains(t, verifier.Verify(t.Context(), request, "other.example", 443, now), "(aud)")
	require.ErrorContains(t, verifier.Verify(t.Context(), request, callee, 444, now), "(aud)")
	other := *request
	other.FromID = "o2aaaaaaaa"
	require.ErrorContains(t, verifier.Verify(t.Context(), &other, callee, 443, now), "(sub)")
	require.NoError(t, verifier.Verify(t.Context(), request, callee, 443, now))
}

// BenchmarkVerify measures a proof that was verified a moment ago.
func BenchmarkVerify(b *testing.B) {
	_, verifier, request := newPair(b)
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		if err := verifier.Verify(b.Context(), request, callee, 443, now); err != nil {
			b.Fatal(err)
		}
	}
}
