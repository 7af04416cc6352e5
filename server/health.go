package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dogwooddb/dogwood/sync/fault"
)

// Where load balancers and supervisors ask. The answers hold nothing of what the
// databases hold, so anybody may.
const (
	pathHealth = "/healthz" // the process answers
	pathReady  = "/readyz"  // it can do its work

	pathMetrics = "/metrics"
)

// isProbe reports whether requests that match a pattern ask for the health of the
// server. Those beyond the rate of their address are answered late, and not refused.
func isProbe(pattern string) bool { return pattern == pathHealth || pattern == pathReady }

// readyTimeout is how long a store that failed may take to be tried again.
const readyTimeout = 2 * time.Second

// errStorage is all that a health check says about a store that fails. The log has the
// cause.
var errStorage = errors.New("storage")

// Ready returns why the server should be sent no requests, nil if it should: it is
// stopping, or a database cannot store writes.
func (s *Server) Ready(ctx context.Context) error {
	select {
	case <-s.stopping:
		return errStopping
	default:
	}
	return s.readiness.Do(func() error { return checkStorage(ctx, s) })
}

// checkStorage returns errStorage if a database cannot store writes. It takes as long as there
// are databases, and does not end with the one client that has it done for all.
func checkStorage(ctx context.Context, s *Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	for ns, db := range s.spaces.opened() {
		if err := db.Health(ctx); err != nil && !errors.Is(err, fault.ErrClosed) { // else it was idle
			s.log.DebugContext(ctx, "not ready", "namespace", ns, "err", err)
			return errStorage
		}
	}
	return nil
}

// getHealth says that the server runs: GET /healthz
func getHealth(q *request) (answer, error) {
	return healthAnswer(nil), nil
}

// getReady says whether it should be sent requests: GET /readyz
func getReady(q *request) (answer, error) {
	return healthAnswer(q.s.Ready(q.r.Context())), nil
}

func healthAnswer(err error) answer {
	if err != nil {
		return answer{status: http.StatusServiceUnavailable, kind: typeText, body: []byte(err.Error() + "\n")}
	}
	return answer{status: http.StatusOK, kind: typeText, body: []byte("ok\n")}
}

// writeHealth is healthAnswer where there is no request of ours.
func writeHealth(w http.ResponseWriter, err error) {
	a := healthAnswer(err)
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(a.status)
	fmt.Fprintf(w, "%s", a.body) // an error means that the client left
}
