//go:build !unix

package rounds

import "time"

// processorTime is not available on this system.
func processorTime() time.Duration { return 0 }
