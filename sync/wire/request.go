package wire

import "strconv"

// What clients send. Load generators, proxies and SDKs write requests with
// these; data and queries are raw JSON, all else is text.

// AppendListen appends the request to follow a path (§5). An empty query is
// the default listen; a filtered one needs a tag. The hash is that of what the
// client has already, "" for nothing.
func AppendListen(dst []byte, id int64, path, query string, tag int64, hash string) []byte {
	dst = appendRequestHead(dst, id, ActionListen)
	dst = append(dst, `"p":`...)
	dst = AppendString(dst, path)
	if query != "" {
		dst = append(append(dst, `,"q":`...), query...)
	}
	if tag != 0 {
		dst = append(dst, `,"t":`...)
		dst = strconv.AppendInt(dst, tag, 10)
	}
	dst = append(dst, `,"h":`...)
	dst = AppendString(dst, hash)
	return append(dst, `}}}`...)
}

// AppendGet appends the request for one read without a listen (§4). An empty
// query asks for the whole value.
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

// AppendPut appends the request to replace the value at a path (§4).
func AppendPut[T Raw](dst []byte, id int64, path string, data T) []byte {
	return appendWrite(dst, id, ActionPut, path, data)
}

// AppendMerge appends the request to write several places below a path at once
// (§4). Data is an object whose keys may be paths.
func AppendMerge[T Raw](dst []byte, id int64, path string, data T) []byte {
	return appendWrite(dst, id, ActionMerge, path, data)
}

func appendWrite[T Raw](dst []byte, id int64, action, path string, data T) []byte {
	dst = appendRequestHead(dst, id, action)
	dst = append(dst, `"p":`...)
	dst = AppendString(dst, path)
	dst = append(dst, `,"d":`...)
	dst = append(dst, data...)
	return append(dst, `}}}`...)
}

// AppendAuth appends the request to sign in: ActionAuth with a JWT, or
// ActionAdminAuth with an access token, a secret or "owner" (§9).
func AppendAuth(dst []byte, id int64, action, credential string) []byte {
	dst = appendRequestHead(dst, id, action)
	dst = append(dst, `"cred":`...)
	dst = AppendString(dst, credential)
	return append(dst, `}}}`...)
}

// appendRequestHead appends the start of every request, up to the members of b.
func appendRequestHead(dst []byte, id int64, action string) []byte {
	dst = append(dst, `{"t":"d","d":{"r":`...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, `,"a":"`...)
	dst = append(dst, action...) // one of ours: nothing to escape
	return append(dst, `","b":{`...)
}
