package wire

import "strconv"

// What only SDKs send, beside what is in request.go.

// AppendUnlisten appends the request to follow a path no longer. Query and tag
// are those of the listen (§4).
func AppendUnlisten(dst []byte, id int64, path, query string, tag int64) []byte {
	dst = appendRequestHead(dst, id, ActionUnlisten)
	dst = append(dst, `"p":`...)
	dst = AppendString(dst, path)
	if query != "" {
		dst = append(append(dst, `,"q":`...), query...)
	}
	if tag != 0 {
		dst = append(dst, `,"t":`...)
		dst = strconv.AppendInt(dst, tag, 10)
	}
	return append(dst, `}}}`...)
}

// AppendPutIf appends the request to replace the value at a path if it still
// has the given hash, "" for no value (§8.2).
func AppendPutIf[T Raw](dst []byte, id int64, path string, data T, hash string) []byte {
	dst = appendRequestHead(dst, id, ActionPut)
	dst = append(dst, `"p":`...)
	dst = AppendString(dst, path)
	dst = append(dst, `,"d":`...)
	dst = append(dst, data...)
	dst = append(dst, `,"h":`...)
	dst = AppendString(dst, hash)
	return append(dst, `}}}`...)
}

// AppendDisconnect appends a request about what the server is to write when the
// connection ends (§10): ActionDisconnectPut, ActionDisconnectMerge, or
// ActionDisconnectStop, whose data is null.
func AppendDisconnect[T Raw](dst []byte, id int64, action, path string, data T) []byte {
	return appendWrite(dst, id, action, path, data)
}

// AppendSignOut appends the request to be nobody (§9).
func AppendSignOut(dst []byte, id int64) []byte {
	return append(appendRequestHead(dst, id, ActionUnauth), `}}}`...)
}
