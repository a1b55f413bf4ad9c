//go:build !special

package tagged

// Parts of most machines.
type Parts interface {
	// Wheel turns.
	Wheel(speed int) (err error)
}
