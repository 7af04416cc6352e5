package realtime

import (
	"encoding/binary"
	"strings"
)

// What a server sends of WebSocket framing (RFC 6455 §5.2): whole messages in
// one frame each, without a mask.
const (
	opText  = 0x1
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xA

	final     = 0x80
	maxHeader = 10 // bytes before the payload
)

// appendFrame appends one frame.
func appendFrame(dst []byte, op byte, payload []byte) []byte {
	dst = append(dst, final|op)
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, byte(n))
	case n < 1<<16:
		dst = append(dst, 126)
		dst = binary.BigEndian.AppendUint16(dst, uint16(n))
	default:
		dst = append(dst, 127)
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	return append(dst, payload...)
}

// appendCloseFrame appends the frame that ends the traffic of a side. A reason
// has at most 123 bytes, cut between characters.
func appendCloseFrame(dst []byte, reason closeReason) []byte {
	payload := binary.BigEndian.AppendUint16(nil, uint16(reason.code))
	text := strings.ToValidUTF8(reason.text[:min(len(reason.text), 123)], "")
	return appendFrame(dst, opClose, append(payload, text...))
}
