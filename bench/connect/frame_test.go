package connect

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// unmask turns a frame of a client into one of a server: the bit and the mask
// of zeros go.
func unmask(frame []byte) []byte {
	mask := map[byte]int{126: 4, 127: 10}[frame[1]&^masked]
	if mask == 0 {
		mask = 2
	}
	out := bytes.Clone(frame[:mask])
	out[1] &^= masked
	return append(out, frame[mask+4:]...)
}

// Whatever the sizes and however the network cuts them, frames come out as they
// went in.
func TestFramesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 300), rapid.SampledFrom([]int{125, 126, 127, 508, 509, 510, 512, 65535, 65536})), 1, 8).Draw(t, "sizes")
		var stream []byte
		for i, n := range sizes {
			stream = append(stream, unmask(appendFrame(nil, opText, bytes.Repeat([]byte{byte('a' + i)}, n)))...)
		}
		src := io.Reader(bytes.NewReader(stream))
		if rapid.Bool().Draw(t, "bytewise") {
			src = iotest.OneByteReader(src)
		}
		f := frameReader{br: bufio.NewReaderSize(src, 512)}
		for i, n := range sizes {
			op, fin, payload, err := f.next()
			if err != nil || op != opText || !fin || len(payload) != n || strings.Trim(string(payload), string(rune('a'+i))) != "" {
				t.Fatalf("frame %d: opcode %d, final %v, %d bytes, %v; want %d bytes of %c", i, op, fin, len(payload), err, n, 'a'+i)
			}
		}
		if f.more() {
			t.Fatal("there is more after the last frame")
		}
		if _, _, _, err := f.next(); err != io.EOF {
			t.Fatalf("after the last frame: %v, want EOF", err)
		}
	})
}

func TestBadFrames(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		want         error
	}{
		{"masked", "\x81\x80\x00\x00\x00\x00", errBadFrame},
		{"compressed", "\xC1\x00", errBadFrame},
		{"huge", "\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", errBadFrame},
		{"half a header", "\x81", io.ErrUnexpectedEOF},
		{"half a length", "\x81\x7e\x01", io.ErrUnexpectedEOF},
		{"half a payload", "\x81\x03ab", io.ErrUnexpectedEOF},
		{"half a large payload", "\x81\x7e\x10\x00abc", io.ErrUnexpectedEOF},
	} {
		f := frameReader{br: bufio.NewReaderSize(strings.NewReader(c.stream), 512)}
		if _, _, _, err := f.next(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
