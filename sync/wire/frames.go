package wire

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Limits of the framing (protocol §1.2).
const (
	// MaxUnit is the length of a frame in UTF-16 code units, at most. In UTF-8
	// that is at most three times as many bytes, below the 64 KiB where a Java
	// client of default configuration gives up.
	MaxUnit = 16384

	// MaxPieces is the highest count: iOS reads one of up to four digits only.
	MaxPieces = 9999
)

// AppendFrames appends the frames that carry msg (protocol §1.2, send rules):
// msg itself when it is short enough, otherwise a count and the pieces, cut
// between characters. Nothing is copied, so the frames share memory with msg.
//
// It returns ErrTooLarge if there are more than MaxPieces. It returns
// ErrBadFrame for a message that is empty or looks like a count; no envelope
// does, and a client would wait forever for the pieces.
func AppendFrames(dst [][]byte, msg []byte) ([][]byte, error) {
	if len(msg) <= 6 && (len(msg) == 0 || isCount(string(msg))) {
		return dst, fmt.Errorf("%w: message %q", ErrBadFrame, msg)
	}
	return appendFrames(dst, msg, MaxUnit, MaxPieces)
}

func appendFrames(dst [][]byte, msg []byte, maxUnits, maxPieces int) ([][]byte, error) {
	n := cut(msg, maxUnits)
	if n == len(msg) {
		return append(dst, msg), nil
	}
	head := len(dst)
	frames := append(dst, nil) // the count goes here
	for rest := msg; len(rest) > 0; n = cut(rest, maxUnits) {
		if len(frames)-head > maxPieces {
			return dst, fmt.Errorf("%w: %d bytes need more than %d pieces", ErrTooLarge, len(msg), maxPieces)
		}
		frames = append(frames, rest[:n:n])
		rest = rest[n:]
	}
	frames[head] = strconv.AppendInt(nil, int64(len(frames)-head-1), 10)
	return frames, nil
}

// cut returns the length of the longest start of b that has at most maxUnits
// UTF-16 units and ends between characters.
func cut(b []byte, maxUnits int) int {
	if len(b) <= maxUnits {
		return len(b) // no character has more units than bytes
	}
	i := 0
	for units := 0; units < maxUnits && i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			units++
			continue
		}
		size, u := char(b[i:])
		if units += u; units > maxUnits {
			break // half of a pair would fit
		}
		i += size
	}
	return i
}

// UTF16Len returns the length of b in UTF-16 code units, which is what clients
// count. A byte that is not UTF-8 counts as the U+FFFD that it will become.
func UTF16Len(b []byte) int {
	units := 0
	for i := 0; i < len(b); {
		size, u := char(b[i:])
		i += size
		units += u
	}
	return units
}

// char returns how many bytes and UTF-16 units the first character of b has.
func char(b []byte) (size, units int) {
	if b[0] < utf8.RuneSelf {
		return 1, 1
	}
	if _, size = utf8.DecodeRune(b); size == 4 {
		return 4, 2 // a surrogate pair
	}
	return size, 1
}
