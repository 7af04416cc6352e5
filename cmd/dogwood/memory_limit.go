package main

import (
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"sync"

	"github.com/dogwooddb/dogwood/server"
)

// A memoryLimit is how much memory the program plans with.
type memoryLimit struct {
	limit  int64  // bytes; 0: unknown
	source string // of the limit, for the log
}

// limitMemory returns how much memory a server may have, and makes the garbage collector
// keep to it. That is what the environment variable GOMEMLIMIT says, or else what there
// is but an eighth, which is left to the system: for its buffers of connections, and to
// keep pages of the databases.
var limitMemory = sync.OnceValue(func() memoryLimit {
	current := debug.SetMemoryLimit(-1)
	if os.Getenv("GOMEMLIMIT") != "" && current < math.MaxInt64 {
		return memoryLimit{current, "GOMEMLIMIT"}
	}
	m := softLimit(machine{os.DirFS("/")}.memory())
	if m.limit > 0 && os.Getenv("GOMEMLIMIT") == "" { // which may be off
		debug.SetMemoryLimit(m.limit)
	}
	return m
})

func softLimit(memory int64, source string) memoryLimit {
	return memoryLimit{memory / 8 * 7, source}
}

// boundAttrs returns the bounds of a server for the line that it logs at its start.
func boundAttrs(l server.Limits) []slog.Attr {
	return append([]slog.Attr{slog.String("memory_source", limitMemory().source)}, l.Attrs()...)
}
