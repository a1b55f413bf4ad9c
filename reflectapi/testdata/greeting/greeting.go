// Package greeting declares an interface that packages elsewhere implement.
package greeting

// Greeter greets.
type Greeter interface {
	// Greet greets a person.
	Greet(name string, times int) (greeting string, err error)

	Leaver
}

// Leaver leaves.
type Leaver interface {
	// Leave says goodbye; its arguments have no names here.
	Leave(string) (farewell string)
}

// Host greets guests.
type Host struct{}

// Greet greets a guest.
func (Host) Greet(guest string, times int) (greeting string, err error) { return guest, nil }

// Leave sees a guest off.
func (Host) Leave(reason string) (farewell string) { return reason }

// Point has the name of a type in another package, and nothing else in common with it.
type Point struct{ At string }
