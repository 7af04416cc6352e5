package wire

import (
	"strconv"

	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// AppendPush appends a push of data (protocol §5.4): PushData, PushMerge or
// PushRangeMerge at a path, with data as raw JSON. A tag of 0 is no tag.
//
// The tag comes last, so that all listeners of one change share the bytes
// before it: write them once with AppendPushPrefix and end each copy with
// AppendPushSuffix.
func AppendPush[T Raw](dst []byte, action, path string, data T, tag int64) []byte {
	return AppendPushSuffix(AppendPushPrefix(dst, action, path, data), tag)
}

// AppendPushPrefix appends a push up to and including its data.
func AppendPushPrefix[T Raw](dst []byte, action, path string, data T) []byte {
	return piecewise.Append(AppendPushHead(dst, action, path), data)
}

// AppendPushHead appends a push up to its data, for callers that encode the
// data in place.
func AppendPushHead(dst []byte, action, path string) []byte {
	dst = appendEventHead(dst, action)
	dst = append(dst, `"p":`...)
	dst = AppendString(dst, path)
	return append(dst, `,"d":`...)
}

// AppendPushSuffix appends what follows the data of a push.
func AppendPushSuffix(dst []byte, tag int64) []byte {
	if tag != 0 {
		dst = append(dst, `,"t":`...)
		dst = strconv.AppendInt(dst, tag, 10)
	}
	return append(dst, `}}}`...)
}

// AppendCancel appends the push that ends a listen (protocol §5.4). Queries are
// the raw query objects of a filtered listen; none means the default listen.
// Java and iOS ignore them and end every listen at the path.
func AppendCancel(dst []byte, path string, queries []string) []byte {
	dst = appendEventHead(dst, PushCancel)
	dst = append(dst, `"p":`...)
	dst = AppendString(dst, path)
	for i, q := range queries {
		if i == 0 {
			dst = append(dst, `,"q":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, q...)
	}
	if len(queries) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, `}}}`...)
}

// AppendCancelBecause is AppendCancel with a status and a text, an extension
// (client-js/PROTOCOL.md) for what is no lack of permission. Other clients look at
// neither and report that.
func AppendCancelBecause(dst []byte, path string, queries []string, status, text string) []byte {
	dst = AppendCancel(dst, path, queries)
	dst = append(dst[:len(dst)-len(`}}}`)], `,"s":`...)
	dst = AppendString(dst, status)
	dst = append(dst, `,"d":`...)
	dst = AppendString(dst, text)
	return append(dst, `}}}`...)
}

// AppendAuthRevoked appends the push that takes the client's identity away
// (protocol §9); the client reconnects with a fresh token.
func AppendAuthRevoked(dst []byte, status, text string) []byte {
	dst = appendEventHead(dst, PushAuthRevoked)
	dst = append(dst, `"s":`...)
	dst = AppendString(dst, status)
	dst = append(dst, `,"d":`...)
	dst = AppendString(dst, text)
	return append(dst, `}}}`...)
}

// appendEventHead appends the start of every push, up to the members of b.
func appendEventHead(dst []byte, action string) []byte {
	dst = append(dst, `{"t":"d","d":{"a":`...)
	dst = AppendString(dst, action)
	return append(dst, `,"b":{`...)
}
