package memory

import (
	"math"
	"os"
	"runtime/debug"
	"sync"
)

// A plan is how much memory the program plans with.
type plan struct {
	Bytes  int64  // bytes; 0: unknown
	Source string // of the limit, for the log
}

// Limit returns how much memory a server may have, and makes the garbage collector
// keep to it. That is what the environment variable GOMEMLIMIT says, or else what there
// is but an eighth, which is left to the system: for its buffers of connections, and to
// keep pages of the databases.
var Limit = sync.OnceValue(func() plan {
	current := debug.SetMemoryLimit(-1)
	if os.Getenv("GOMEMLIMIT") != "" && current < math.MaxInt64 {
		return plan{current, "GOMEMLIMIT"}
	}
	m := softLimit(machine{os.DirFS("/")}.memory())
	if m.Bytes > 0 && os.Getenv("GOMEMLIMIT") == "" { // which may be off
		debug.SetMemoryLimit(m.Bytes)
	}
	return m
})

func softLimit(memory int64, source string) plan {
	return plan{memory / 8 * 7, source}
}
