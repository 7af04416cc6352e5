package wire

import "errors"

// Errors of the framing layers. Texts that wrap them name the value that was
// wrong; they are for logs, not for clients.
var (
	ErrTooLarge = errors.New("message too large") // over a limit of size or count
	ErrBadFrame = errors.New("bad frame")         // not what any client sends
)

// A FormatError says why a text is no message of the protocol.
type FormatError struct {
	ID  int64  // request to answer with an error; -1 if no id could be read
	Msg string // "b.h is 5, want a string"
}

func (e *FormatError) Error() string { return "malformed message: " + e.Msg }
