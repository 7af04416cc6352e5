package realtime

import (
	"encoding/binary"
	"strings"
)

// Opcodes and bits of WebSocket framing (RFC 6455 §5.2).
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8 // the first of the control frames
	opPing         = 0x9
	opPong         = 0xA

	final     = 0x80
	masked    = 0x80
	maxHeader = 10 // bytes before the payload, of a frame without a mask
)

// appendFrame appends one frame. A server sends whole messages in one frame each, without a
// mask.
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
