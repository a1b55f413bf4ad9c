package rounds

import "slices"

// Setup is what a contender has started: what undoes it, and the processes that its calls use beside this one. Use it
// from one goroutine.
type Setup struct {
	steps     []func()
	processes []int
}

// Cleanup adds a step that undoes something. The last step runs first.
func (s *Setup) Cleanup(step func()) { s.steps = append(s.steps, step) }

// Process adds the process with an ID: its processor time and its writes count, too.
func (s *Setup) Process(id int) { s.processes = append(s.processes, id) }

// Undo runs the steps.
func (s *Setup) Undo() {
	for _, step := range slices.Backward(s.steps) {
		step()
	}
	*s = Setup{}
}
