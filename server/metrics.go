package server

import (
	"runtime/debug"
	"sync"

	"github.com/dogwooddb/dogwood/server/metrics"
	dsync "github.com/dogwooddb/dogwood/sync"
)

const pathMetrics = "/metrics"

// source reads what the parts of the server count.
func (s *Server) source() metrics.Source {
	b := s.BackupStats()
	return metrics.Source{
		Version:         buildVersion(),
		Databases:       s.measured(),
		BodyBytes:       s.all.Bodies.Meter().Used(),
		WorkBytes:       s.all.Work.Meter().Used(),
		AnswerBytes:     s.all.Answers.Meter().Used(),
		ViewBytes:       s.all.Views.Held(),
		PendingBytes:    s.all.Pending.Meter().Used(),
		RunningImports:  len(s.imports),
		RunningExports:  len(s.exports),
		BackupsDone:     b.Done,
		BackupsFailed:   b.Failed,
		LastBackup:      b.Last,
		LastBackupBytes: b.LastBytes,
	}
}

// measured returns the counts of the databases that are open.
func (s *Server) measured() (all []metrics.Database) {
	for ns, db := range s.spaces.opened() {
		d := metrics.Database{Namespace: ns, Stats: db.Stats(), Timings: db.Timings(), Failing: db.Failing()}
		// A database that is being closed has no file any more, only counts.
		d.Usage, _ = db.Usage()
		all = append(all, d)
	}
	return all
}

// opened yields the databases that are open, by name. One that is being opened just
// now is left out: that can take long.
func (n *namespaces) opened() func(yield func(string, *dsync.Database) bool) {
	return func(yield func(string, *dsync.Database) bool) {
		for _, name := range n.names() {
			n.mu.Lock()
			ns := n.known[name]
			n.mu.Unlock()
			if ns == nil {
				continue
			}
			if db := ns.db.Load(); db != nil && !yield(name, db) {
				return
			}
		}
	}
}

// getMetrics answers Prometheus, if it is an administrator of the whole server:
// GET /metrics
func getMetrics(q *request) (answer, error) {
	if err := q.openAdmin(); err != nil {
		return answer{}, err
	}
	q.s.metrics.Handler(q.s.source).ServeHTTP(q.w, q.r)
	return answer{}, nil
}

// buildVersion returns the version of the module that the program was built from.
var buildVersion = sync.OnceValue(func() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		return b.Main.Version
	}
	return ""
})
