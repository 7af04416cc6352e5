package server

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// Close codes of WebSockets (RFC 6455 §7.4.1). Clients of this protocol ignore
// them; they are for people who look at the traffic.
const (
	closeNormal        = 1000
	closeGoingAway     = 1001
	closeProtocolError = 1002
	closeUnsupported   = 1003
	closeBadText       = 1007
	closePolicy        = 1008
	closeTooBig        = 1009
	closeInternalError = 1011
	closeTryAgain      = 1013
)

// A goodbye says why a connection ends. With code 0 there is nobody to tell or
// nothing to say, and nothing is flushed.
type goodbye struct {
	code   int
	reason string
}

func (g goodbye) Error() string { return fmt.Sprintf("close %d: %s", g.code, g.reason) }

var (
	dropped   = goodbye{}
	replaced  = goodbye{0, "the client has a newer connection"}
	goingAway = goodbye{closeGoingAway, "the server is going away"}
	silent    = goodbye{closePolicy, "nothing was received for too long"}
	left      = goodbye{closeNormal, ""}
	expired   = goodbye{closePolicy, "the credential is no longer valid"}
	crashed   = goodbye{closeInternalError, "internal error"}
)

// frameError is the goodbye for what a wire.Collector or wire.Reassembler did
// not accept.
func frameError(err error) goodbye {
	if errors.Is(err, wire.ErrTooLarge) {
		return goodbye{closeTooBig, err.Error()}
	}
	return goodbye{closeProtocolError, err.Error()}
}

// outboxError is the goodbye for what an outbox wants a connection closed for.
func outboxError(err error) goodbye {
	if errors.Is(err, dsync.ErrClosed) {
		return goingAway
	}
	if errors.Is(err, dsync.ErrUnknown) || errors.Is(err, dsync.ErrFailed) {
		return goodbye{closeTryAgain, "the disk failed"}
	}
	return goodbye{closePolicy, err.Error()}
}

// refusal returns what a client is told that asks for a database which it
// cannot have: a control message after which it gives up (protocol §3). It is
// nil if err is of the passing kind.
func refusal(err error) []byte {
	switch {
	case errors.Is(err, errNoNamespace), errors.Is(err, errBadNamespace):
		return wire.AppendControlText(nil, wire.ControlShutdown, wire.TextNoInstance)
	case errors.Is(err, errDeactivated):
		return wire.AppendControlText(nil, wire.ControlShutdown, "The database has been deactivated.")
	}
	return nil
}

// unavailable answers a request to connect that may succeed later.
func (rt *realtime) unavailable(w http.ResponseWriter, err error) {
	if errors.Is(err, errTooFast) {
		refuseAddress(w)
		return
	}
	if !errors.Is(err, errStopping) && !errors.Is(err, dsync.ErrClosed) {
		rt.s.log.Warn("connection refused", "err", err)
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, textUnavailable, http.StatusServiceUnavailable)
}

// panicked logs what was recovered from a panic. It must not end the process,
// nor any other connection.
func (rt *realtime) panicked(doing string, p any) {
	rt.s.log.Error("panic in a connection", "doing", doing, "panic", p, "stack", string(debug.Stack()))
}
