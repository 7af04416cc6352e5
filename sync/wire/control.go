package wire

import "strconv"

// AppendHello appends the hello, which must be the first message that a client
// gets (protocol §3): the server's time in milliseconds, the host that the
// client should use from now on, and the id of the session, which comes back as
// parameter ls of the next connection. Features name extensions of the protocol
// that the server has, such as FeatureWriteIDs.
func AppendHello(dst []byte, timestampMs int64, host, sessionID string, features ...string) []byte {
	dst = append(dst, `{"t":"c","d":{"t":"h","d":{"ts":`...)
	dst = strconv.AppendInt(dst, timestampMs, 10)
	dst = append(dst, `,"v":"`+ProtocolVersion+`","h":`...)
	dst = AppendString(dst, host)
	dst = append(dst, `,"s":`...)
	dst = AppendString(dst, sessionID)
	for i, feature := range features {
		if i == 0 {
			dst = append(dst, `,"f":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, feature)
	}
	if len(features) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, `}}}`...)
}

// AppendControl appends a control message (protocol §3). Data is raw JSON;
// empty data is sent as null, since a client ignores a control message without
// d.
func AppendControl[T Raw](dst []byte, typ string, data T) []byte {
	dst = appendControlHead(dst, typ)
	if len(data) == 0 {
		dst = append(dst, `null`...)
	}
	dst = append(dst, data...)
	return append(dst, `}}`...)
}

// AppendControlText appends a control message whose data is a string: the host
// of ControlReset, the reason of ControlShutdown, the text of ControlError
// (protocol §3).
func AppendControlText(dst []byte, typ, text string) []byte {
	dst = appendControlHead(dst, typ)
	dst = AppendString(dst, text)
	return append(dst, `}}`...)
}

func appendControlHead(dst []byte, typ string) []byte {
	dst = append(dst, `{"t":"c","d":{"t":`...)
	dst = AppendString(dst, typ)
	return append(dst, `,"d":`...)
}
