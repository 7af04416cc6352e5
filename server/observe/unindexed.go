package observe

import (
	"log/slog"
	"sync"

	"github.com/dogwooddb/dogwood/sync/fault"
)

// maxUnindexed bounds the queries that are remembered. Later ones are not in the log.
const maxUnindexed = 1000

// Unindexed are the queries that a server in Dev answered without an index, since it was
// given no rules. With rules they fail, as in production: a developer should know that
// before. The zero value has none. The bound keeps a client that makes up queries from
// filling the memory or the log.
type Unindexed struct {
	mu   sync.Mutex
	seen map[string]bool // by database and what their error says
}

// NoteIn returns what has the log mention a query of a database, the first time that
// it is asked.
func (u *Unindexed) NoteIn(ns string, log *slog.Logger) func(*fault.NoIndexError) {
	return func(missing *fault.NoIndexError) {
		text := Clipped(missing.Error())
		if u.add(ns + "\n" + text) {
			log.Warn("this query fails in production, and here as soon as rules are given", "namespace", ns, "path", Clipped(missing.Path.String()), "err", text)
		}
	}
}

// add reports whether a query was not there.
func (u *Unindexed) add(query string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seen[query] || len(u.seen) >= maxUnindexed {
		return false
	}
	if u.seen == nil {
		u.seen = make(map[string]bool)
	}
	u.seen[query] = true
	return true
}
