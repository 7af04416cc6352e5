package realtime

import (
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// Close codes of WebSockets (RFC 6455 §7.4.1). Clients of this protocol ignore
// them; they help to debug traffic.
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

// A closeReason says why a connection ends. With code 0 the client cannot be told, or
// there is nothing to say, and nothing is flushed.
type closeReason struct {
	code int
	text string
}

func (r closeReason) Error() string { return fmt.Sprintf("close %d: %s", r.code, r.text) }

var (
	dropped   = closeReason{}
	replaced  = closeReason{0, "the client has a newer connection"}
	goingAway = closeReason{closeGoingAway, "the server is going away"}
	silent    = closeReason{closePolicy, "nothing was received for too long"}
	left      = closeReason{closeNormal, ""}
	expired   = closeReason{closePolicy, "the credential is no longer valid"}
	crashed   = closeReason{closeInternalError, "internal error"}

	parked = closeReason{-1, "parked"} // the connection does not end
)

// frameError is the closeReason for what a wire.Collector or wire.Reassembler did
// not accept.
func frameError(err error) closeReason {
	if errors.Is(err, wire.ErrTooLarge) {
		return closeReason{closeTooBig, err.Error()}
	}
	return closeReason{closeProtocolError, err.Error()}
}

// outboxError is the closeReason for what an outbox wants a connection closed for.
func outboxError(err error) closeReason {
	if errors.Is(err, fault.ErrClosed) {
		return goingAway
	}
	if errors.Is(err, fault.ErrUnknown) || errors.Is(err, fault.ErrFailed) {
		return closeReason{closeTryAgain, "the disk failed"}
	}
	return closeReason{closePolicy, err.Error()}
}

// refusal returns what a client is told that asks for a database which it
// cannot have: a control message after which it gives up (protocol §3). It is
// nil if the client may try again.
func refusal(err error) []byte {
	if no := (*NoDatabaseError)(nil); errors.As(err, &no) {
		return wire.AppendControlText(nil, wire.ControlShutdown, no.Text)
	}
	return nil
}
