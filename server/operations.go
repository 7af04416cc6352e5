package server

import (
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/profiles"
)

// operations is the surface of the operations listener. It has no route into
// databases. But pprof shows the command line, and a profile takes processor
// time, so it is not for the public.
func operations(s *Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+pathMetrics, s.metrics.Handler(s.source))
	mux.HandleFunc("GET "+pathHealth, func(w http.ResponseWriter, r *http.Request) { writeHealth(w, nil) })
	mux.HandleFunc("GET "+pathReady, func(w http.ResponseWriter, r *http.Request) { writeHealth(w, s.Ready(r.Context())) })
	mux.Handle("GET "+profiles.Root, profiles.Handler())
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "Operations of a Dogwood server: %s %s %s /debug/pprof/\n", pathMetrics, pathHealth, pathReady)
	})
	return mux
}

// An OpsGate keeps web pages away from a listener for operations, which asks for no
// credentials. It tells them as the gate of a development server does.
//
// Listening on loopback does not protect from web pages, which can send requests there;
// the host and the origin tell them. It protects from nothing else.
type OpsGate struct {
	gate  gate
	names string // that requests may ask by
}

// NewOpsGate returns the gate of a listener. Requests may name its host by what the
// flag of its address has, "" for none; also by the names of loopback; and if it
// listens beyond loopback, by any address or none.
func NewOpsGate(listens net.Addr, name string) *OpsGate {
	g := &OpsGate{names: "a loopback address, such as localhost"}
	if name = strings.TrimSuffix(plainHost(name), "."); name != "" {
		g.gate.hosts = append(g.gate.hosts, name)
	}
	if ip := net.ParseIP(plainHost(listens.String())); ip == nil || !ip.IsLoopback() {
		g.gate.hosts = append(g.gate.hosts, "")
		g.gate.anyAddress = true
		g.names = "an IP address, or by the name in --ops-addr"
	}
	return g
}

// Refuse returns why a request is not answered, nil if it is.
func (g *OpsGate) Refuse(r *http.Request) error {
	if !g.gate.ownHost(plainHost(r.Host)) {
		return fmt.Errorf("ask by %s", g.names)
	}
	if origin, foreign := g.gate.foreign(r); foreign {
		return fmt.Errorf("pages and links of the origin %q are not answered; type or copy the address instead", observe.Clipped(origin))
	}
	return nil
}

// Operations returns the handler of metrics, health and pprof. It asks for no credentials,
// so its listener must be reachable for operators only.
func (s *Server) Operations() http.Handler { return operations(s) }

// source reads what the parts of the server count.
func (s *Server) source() metrics.Source {
	b := s.BackupStats()
	var certificates map[string]time.Time
	if s.opts.Certificates != nil {
		certificates = s.opts.Certificates()
	}
	sent, lost := s.opts.Spans.Counts()
	return metrics.Source{
		SpansSent:       sent,
		SpansDropped:    lost,
		Version:         buildVersion(),
		Databases:       s.measured(),
		Dropped:         s.spaces.dropped(),
		BodyBytes:       s.all.Bodies.Meter().Used(),
		WorkBytes:       s.all.Work.Meter().Used(),
		AnswerBytes:     s.all.Answers.Meter().Used(),
		ViewBytes:       s.all.Views.Held(),
		WaitingBytes:    s.all.Views.Waiting(),
		PendingBytes:    s.all.Pending.Meter().Used(),
		RunningImports:  s.imports.Used(),
		RunningExports:  s.exports.Used(),
		BackupsDone:     b.Done,
		BackupsFailed:   b.Failed,
		LastBackup:      b.Last,
		LastBackupBytes: b.LastBytes,
		Log:             s.spaces.measuredLog(),
		Disks:           s.spaces.disks(),
		Certificates:    certificates,
	}
}

// measured returns the counts of the databases that are open, or were. It opens none.
func (s *Server) measured() (all []metrics.Database) {
	for _, ns := range s.spaces.all() {
		d, ok := ns.measured()
		if db := ns.db.Load(); ok && db != nil {
			// A database that is being closed has no file any more, only counts.
			d.Usage, _ = db.Usage()
		}
		if ok {
			all = append(all, d)
		}
	}
	return all
}

// getMetrics answers Prometheus, if it is an administrator of the whole server:
// GET /metrics
func getMetrics(q *request) (answer, error) {
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
