//go:build special

package tagged

// Parts of a special machine.
type Parts interface {
	// Wing flaps.
	Wing(speed int) (err error)
}
