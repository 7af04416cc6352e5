package wire

import "strconv"

// Requests of clients. Load generators, proxies and SDKs write requests with
// these; data and queries are raw JSON, all else is text.

// AppendListen appends the request to follow a path (protocol §5). An empty
// query is the default listen; a filtered one needs a tag. The hash is that of
// what the client has already, "" for nothing.
func AppendListen(dst []byte, id int64, path, query string, tag int64, hash string) []byte {
	dst = appendView(dst, id, ActionListen, path, query, tag)
	dst = append(dst, `,"h":`...)
	dst = AppendString(dst, hash)
	return append(dst, `}}}`...)
}

// AppendUnlisten appends the request to follow a path no longer. Query and tag
// are those of the listen (protocol §4).
func AppendUnlisten(dst []byte, id int64, path, query string, tag int64) []byte {
	return append(appendView(dst, id, ActionUnlisten, path, query, tag), `}}}`...)
}

// appendView appends what listens and their ends have in common.
func appendView(dst []byte, id int64, action, path, query string, tag int64) []byte {
	dst = appendRequestHead(dst, id, action)
	dst = append(dst, `"p":`...)
	dst = AppendString(dst, path)
	if query != "" {
		dst = append(append(dst, `,"q":`...), query...)
	}
	if tag != 0 {
		dst = append(dst, `,"t":`...)
		dst = strconv.AppendInt(dst, tag, 10)
	}
	return dst
}

// AppendGet appends the request for one read without a listen (protocol §4). An
// empty query asks for the whole value.
func AppendGet(dst []byte, id int64, path, query string) []byte {
	dst = appendRequestHead(dst, id, ActionGet)
	dst = append(dst, `"p":`...)
	dst = AppendString(dst, path)
	dst = append(dst, `,"q":`...)
	if query == "" {
		query = `{}`
	}
	dst = append(dst, query...)
	return append(dst, `}}}`...)
}

// AppendGetIf appends the request for one read of a value whose hash may be the
// given one, "" for no value (FeatureGetIf).
func AppendGetIf(dst []byte, id int64, path, query, hash string) []byte {
	const end = `}}}`
	dst = AppendGet(dst, id, path, query)
	dst = AppendString(append(dst[:len(dst)-len(end)], `,"h":`...), hash)
	return append(dst, end...)
}

// AppendPut appends the request to replace the value at a path (protocol §4).
func AppendPut[T Raw](dst []byte, id int64, path string, data T) []byte {
	return append(appendWrite(dst, id, ActionPut, path, data), `}}}`...)
}

// AppendPutIf appends the request to replace the value at a path if it still
// has the given hash, "" for no value (protocol §8.2).
func AppendPutIf[T Raw](dst []byte, id int64, path string, data T, hash string) []byte {
	dst = appendWrite(dst, id, ActionPut, path, data)
	dst = append(dst, `,"h":`...)
	dst = AppendString(dst, hash)
	return append(dst, `}}}`...)
}

// AppendMerge appends the request to write several places below a path at once
// (protocol §4). Data is an object whose keys may be paths.
func AppendMerge[T Raw](dst []byte, id int64, path string, data T) []byte {
	return append(appendWrite(dst, id, ActionMerge, path, data), `}}}`...)
}

// AppendDisconnect appends a request about what the server is to write when the
// connection ends (protocol §10): ActionDisconnectPut, ActionDisconnectMerge, or
// ActionDisconnectStop, whose data is null.
func AppendDisconnect[T Raw](dst []byte, id int64, action, path string, data T) []byte {
	return append(appendWrite(dst, id, action, path, data), `}}}`...)
}

// appendWrite appends what all writes have in common.
func appendWrite[T Raw](dst []byte, id int64, action, path string, data T) []byte {
	dst = appendRequestHead(dst, id, action)
	dst = append(dst, `"p":`...)
	dst = AppendString(dst, path)
	dst = append(dst, `,"d":`...)
	return append(dst, data...)
}

// AppendAuth appends the request to sign in: ActionAuth with a JWT, or
// ActionAdminAuth with an access token, a secret or "owner" (protocol §9).
func AppendAuth(dst []byte, id int64, action, credential string) []byte {
	dst = appendRequestHead(dst, id, action)
	dst = append(dst, `"cred":`...)
	dst = AppendString(dst, credential)
	return append(dst, `}}}`...)
}

// AppendSignOut appends the request to sign out (protocol §9).
func AppendSignOut(dst []byte, id int64) []byte {
	return append(appendRequestHead(dst, id, ActionUnauth), `}}}`...)
}

// appendRequestHead appends the start of every request, up to the members of b.
func appendRequestHead(dst []byte, id int64, action string) []byte {
	dst = append(dst, `{"t":"d","d":{"r":`...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, `,"a":"`...)
	dst = append(dst, action...) // one of ours: nothing to escape
	return append(dst, `","b":{`...)
}
