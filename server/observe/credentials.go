package observe

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/server/metrics"
)

// credentialErrors are the classes of refused credentials. Each has a line of the log
// every LinePause, so that a flood of one does not hide the others.
var credentialErrors = [...]error{auth.ErrRevoked, auth.ErrExpired, auth.ErrMissingKid, auth.ErrUnknownKid, auth.ErrInvalid}

// RefusedCredentials count credentials that are refused, and have the log say why.
type RefusedCredentials struct {
	metrics *metrics.Metrics
	log     *slog.Logger
	auth    *auth.Authority
	began   time.Time
	lines   [len(credentialErrors)]LineLimiter
}

// NewRefusedCredentials returns what counts in m and writes to log the reasons of a.
func NewRefusedCredentials(m *metrics.Metrics, log *slog.Logger, a *auth.Authority) *RefusedCredentials {
	return &RefusedCredentials{metrics: m, log: log, auth: a, began: time.Now()}
}

// Add counts a credential that was refused, and has the log say why now and then. The
// client is told no more than its class. One that cannot be decided now was not refused.
func (r *RefusedCredentials) Add(ns, text string, why error) {
	if errors.Is(why, auth.ErrUnavailable) {
		return
	}
	r.metrics.CredentialsRefused.Add(1)
	class := slices.IndexFunc(credentialErrors[:], func(class error) bool { return errors.Is(why, class) })
	if class < 0 {
		return
	}
	if count, ok := r.lines[class].Next(time.Since(r.began)); ok {
		args := []any{"count", count, "namespace", ns}
		r.log.Info("refused a credential", append(args, r.auth.Reason(ns, text, why)...)...)
	}
}
