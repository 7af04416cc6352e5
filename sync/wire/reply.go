package wire

import (
	"slices"
	"strconv"

	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// Raw is JSON that is already encoded.
type Raw interface{ ~string | ~[]byte }

// AppendOK appends the response to a request that succeeded (protocol §2). Data
// is raw JSON; empty data is sent as "", the answer to writes. The answer to a
// listen must be an object, DataNone if there is nothing to say: Java reads it
// as one.
func AppendOK[T Raw](dst []byte, id int64, data T) []byte {
	dst = appendReplyHead(dst, id)
	dst = append(dst, `"`+StatusOK+`","d":`...)
	if len(data) == 0 {
		dst = append(dst, `""`...)
	}
	return append(piecewise.Append(dst, data), `}}}`...)
}

// AppendOKWith is AppendOK with data that f appends, which is not copied then.
func AppendOKWith(dst []byte, id int64, f func(dst []byte) []byte) []byte {
	dst = append(appendReplyHead(dst, id), `"`+StatusOK+`","d":`...)
	return append(f(dst), `}}}`...)
}

// AppendError appends the response to a request that failed (protocol §2, §13).
// Clients show the text to the application.
func AppendError(dst []byte, id int64, status, text string) []byte {
	dst = appendReplyHead(dst, id)
	dst = AppendString(dst, status)
	dst = append(dst, `,"d":`...)
	dst = AppendString(dst, text)
	return append(dst, `}}}`...)
}

// AppendDenied is AppendError with the rule that refused the request, an extension
// (client-js/PROTOCOL.md) for where rules are no secret.
func AppendDenied(dst []byte, id int64, status, text, rule string) []byte {
	return appendErrorWith(dst, id, status, text, `,"rule":`, rule)
}

// AppendRefused is AppendError with the definition of declared data that refused a write, an
// extension (docs/extensions.md).
func AppendRefused(dst []byte, id int64, status, text, definition string) []byte {
	return appendErrorWith(dst, id, status, text, `,"def":`, definition)
}

func appendErrorWith(dst []byte, id int64, status, text, member, value string) []byte {
	dst = AppendError(dst, id, status, text)
	dst = append(dst[:len(dst)-len(`}}}`)], member...)
	dst = AppendString(dst, value)
	return append(dst, `}}}`...)
}

// replyRoom is enough for the answer to a write.
const replyRoom = 64

func appendReplyHead(dst []byte, id int64) []byte {
	dst = slices.Grow(dst, replyRoom)
	dst = append(dst, `{"t":"d","d":{"r":`...)
	dst = strconv.AppendInt(dst, id, 10)
	return append(dst, `,"b":{"s":`...)
}
