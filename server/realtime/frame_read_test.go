package realtime

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gorilla/websocket"
)

// A stream is a connection whose client has sent all that it will. What is written to it is
// lost.
type stream struct {
	net.Conn
	io.Reader
}

func (s stream) Read(p []byte) (int, error)       { return s.Reader.Read(p) }
func (s stream) Write(p []byte) (int, error)      { return len(p), nil }
func (s stream) Close() error                     { return nil }
func (s stream) SetDeadline(time.Time) error      { return nil }
func (s stream) SetWriteDeadline(time.Time) error { return nil }

const frameLimit = 1000 // of messages of these tests

// ownFrames returns what a frameReader makes of a stream: its messages and control frames, and
// why it ended.
func ownFrames(r io.Reader) (events []string, err error) {
	f := frameReader{limit: frameLimit, short: func() error { return nil }}
	f.in = input{conn: stream{Reader: r}, before: func() {}, received: func(int) {}}
	f.control = func(op byte, payload []byte) error {
		if op == opClose {
			return closeOf(payload)
		}
		events = append(events, string('0'+rune(op))+string(payload))
		return nil
	}
	for {
		op, err := f.next()
		if err == nil && op < opClose {
			var text []byte
			text, err = io.ReadAll(&f)
			if err == nil {
				events = append(events, string('0'+rune(op))+string(text))
			}
		}
		if err != nil {
			return events, err
		}
	}
}

// libraryFrames is what the library makes of it.
func libraryFrames(t *testing.T, r io.Reader) (events []string, err error) {
	req := httptest.NewRequest("GET", "/", nil)
	for k, v := range map[string]string{"Connection": "upgrade", "Upgrade": "websocket", "Sec-Websocket-Version": "13", "Sec-Websocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
		req.Header.Set(k, v)
	}
	ws, err := upgrader.Upgrade(hijacked{stream{Reader: r}}, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(frameLimit)
	control := func(op string) func(string) error {
		return func(payload string) error {
			events = append(events, op+payload)
			return nil
		}
	}
	ws.SetPingHandler(control("9"))
	ws.SetPongHandler(control(":"))
	for {
		op, text, err := ws.ReadMessage()
		if err != nil {
			return events, err
		}
		events = append(events, string('0'+rune(op))+string(text))
	}
}

type hijacked struct{ conn net.Conn }

func (h hijacked) Header() http.Header         { return http.Header{} }
func (h hijacked) Write(p []byte) (int, error) { return len(p), nil }
func (h hijacked) WriteHeader(int)             {}
func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}

// sameEnd reports whether the library found the same end. It names all faults of a header, and
// a frameReader one of them.
func sameEnd(own, library error) bool {
	var reason closeReason
	var closed *websocket.CloseError
	switch {
	case errors.Is(library, websocket.ErrReadLimit):
		return own == tooLarge || own == dropped // before the mask, which comes after the length
	case errors.As(library, &closed) && closed.Code != websocket.CloseAbnormalClosure:
		return own == left
	case library == io.EOF, library == io.ErrUnexpectedEOF, closed != nil:
		return own == dropped
	case errors.As(own, &reason) && reason.code == closeProtocolError:
		return strings.Contains(library.Error(), reason.text)
	}
	return false
}

// FuzzFrames: whatever a client sends, and however the network cuts it, a frameReader and the
// library agree about it.
func FuzzFrames(f *testing.F) {
	for _, test := range frameTests {
		f.Add([]byte(test.raw))
	}
	f.Add([]byte(clientFrame(opText, true, strings.Repeat("x", 126)) + clientFrame(opText, false, "a") + clientFrame(opPing, true, "b")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		want, end := libraryFrames(t, bytes.NewReader(raw))
		for name, r := range map[string]io.Reader{"whole": bytes.NewReader(raw), "bytes": iotest.OneByteReader(bytes.NewReader(raw))} {
			got, err := ownFrames(r)
			if strings.Join(got, "|") != strings.Join(want, "|") || !sameEnd(err, end) {
				t.Errorf("%s: %.300q, %v, want %.300q, %v", name, got, err, want, end)
			}
		}
	})
}

// clientFrame returns a frame with a mask.
func clientFrame(op byte, last bool, payload string) string {
	b := []byte{op}
	if last {
		b[0] |= final
	}
	if n := len(payload); n < 126 {
		b = append(b, masked|byte(n))
	} else {
		b = binary.BigEndian.AppendUint16(append(b, masked|126), uint16(n))
	}
	mask := []byte{1, 0x80, 0xff, 'x'}
	b = append(b, mask...)
	for i := range len(payload) {
		b = append(b, payload[i]^mask[i%4])
	}
	return string(b)
}

// frameTests are streams, the messages and control frames in them, each with its opcode, and
// the end of the traffic (RFC 6455 §5).
var frameTests = []struct {
	name, raw string
	want      string
	end       error
}{
	{"nothing", "", "", dropped},
	{"a message", clientFrame(opText, true, "hello"), "1hello", dropped},
	{"an empty message", clientFrame(opText, true, ""), "1", dropped},
	{"a long one", clientFrame(opText, true, strings.Repeat("x", 999)), "1" + strings.Repeat("x", 999), dropped},
	{"too long", clientFrame(opText, true, strings.Repeat("x", 1001)), "", tooLarge},
	{"too long in fragments", clientFrame(opText, false, strings.Repeat("x", 999)) + clientFrame(opContinuation, true, "xx"), "", tooLarge},
	{"as long, one after the other", strings.Repeat(clientFrame(opText, true, strings.Repeat("x", 700)), 2), strings.Repeat("|1"+strings.Repeat("x", 700), 2)[1:], dropped},
	{"a length of 63 bits", "\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff....", "", tooLarge},
	{"a length of 64 bits", "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff....", "", tooLarge},
	{"lengths in more bytes than needed", "\x81\xfe\x00\x01\x00\x00\x00\x00x\x81\xff\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00y", "1x|1y", dropped},
	{"binary", clientFrame(opBinary, true, "x"), "2x", dropped},
	{"fragments", clientFrame(opText, false, "a") + clientFrame(opContinuation, false, "") + clientFrame(opContinuation, true, "b"), "1ab", dropped},
	{"control frames in between", clientFrame(opText, false, "a") + clientFrame(opPing, true, "p") + clientFrame(opPong, true, "q") + clientFrame(opContinuation, true, "b"), "9p|:q|1ab", dropped},
	{"pings", clientFrame(opPing, true, "") + clientFrame(opPing, true, strings.Repeat("x", 125)), "9|9" + strings.Repeat("x", 125), dropped},
	{"a long ping", clientFrame(opPing, true, strings.Repeat("x", 126)), "", protocolError("len > 125 for control")},
	{"a ping in fragments", clientFrame(opPing, false, "x"), "", protocolError("FIN not set on control")},
	{"a continuation of nothing", clientFrame(opContinuation, true, "x"), "", protocolError("continuation after FIN")},
	{"a continuation of a message that has ended", clientFrame(opText, true, "x") + clientFrame(opContinuation, true, "x"), "1x", protocolError("continuation after FIN")},
	{"a message in a message", clientFrame(opText, false, "x") + clientFrame(opText, true, "x"), "", protocolError("data before FIN")},
	{"a reserved opcode", clientFrame(3, true, "x"), "", protocolError("bad opcode 3")},
	{"a reserved opcode of control frames", clientFrame(0xb, true, "x"), "", protocolError("bad opcode 11")},
	{"reserved bit 1", "\xc1\x80....", "", protocolError("RSV1 set")},
	{"reserved bit 2", "\xa1\x80....", "", protocolError("RSV2 set")},
	{"reserved bit 3", "\x91\x80....", "", protocolError("RSV3 set")},
	{"no mask", "\x81\x01x", "", protocolError("bad MASK")},
	{"close", clientFrame(opClose, true, ""), "", left},
	{"close with half a code", clientFrame(opClose, true, "\x03"), "", left},
	{"close with a code", clientFrame(opClose, true, "\x03\xe8"), "", left},
	{"close with a reason", clientFrame(opClose, true, "\x03\xe9bye €"), "", left},
	{"close with a code of an application", clientFrame(opClose, true, "\x0b\xb8"), "", left},
	{"close with a code of nothing", clientFrame(opClose, true, "\x03\xed"), "", protocolError("bad close code 1005")},
	{"close with a reserved code", clientFrame(opClose, true, "\x03\xf7"), "", protocolError("bad close code 1015")},
	{"close with a low code", clientFrame(opClose, true, "\x00\x01"), "", protocolError("bad close code 1")},
	{"close with a high code", clientFrame(opClose, true, "\x13\x88"), "", protocolError("bad close code 5000")},
	{"close without UTF-8", clientFrame(opClose, true, "\x03\xe8\xff"), "", protocolError("invalid utf8 payload in close frame")},
	{"close in a message", clientFrame(opText, false, "x") + clientFrame(opClose, true, ""), "", left},
	{"half a header", "\x81", "", dropped},
	{"half a length", "\x81\xfe\x01", "", dropped},
	{"half a mask", "\x81\x81ab", "", dropped},
	{"no payload", "\x81\x81abcd", "", dropped},
	{"half a payload", "\x81\x82abcdx", "", dropped},
	{"half a ping", "\x89\x82abcdx", "", dropped},
	{"half a message", clientFrame(opText, false, "x"), "", dropped},
}

func protocolError(text string) error { return closeReason{closeProtocolError, text} }

func TestFrames(t *testing.T) {
	for _, test := range frameTests {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(test.raw), "bytes": iotest.OneByteReader(strings.NewReader(test.raw))} {
			got, err := ownFrames(r)
			if strings.Join(got, "|") != test.want || err != test.end {
				t.Errorf("%s, %s: %.300q, %v, want %.300q, %v", test.name, name, got, err, test.want, test.end)
			}
		}
	}
}

// Frames that were read ahead cost nothing but the payloads of control frames.
func TestFramesAllocs(t *testing.T) {
	f := frameReader{limit: 1 << 20}
	f.in = input{before: func() {}, received: func(int) {}}
	frame := []byte(clientFrame(opText, true, "hello"))
	sent, p := make([]byte, len(frame)), make([]byte, 100)
	if allocs := testing.AllocsPerRun(100, func() {
		copy(sent, frame)
		f.in.left = sent
		op, err := f.next()
		if n, _ := f.Read(p); err != nil || op != opText || string(p[:n]) != "hello" {
			t.Errorf("read %d %q, %v", op, p[:n], err)
		}
	}); allocs > 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}

// What is unmasked in parts of any length is what the client has masked.
func TestUnmask(t *testing.T) {
	want := strings.Repeat("0123456789", 10)
	for _, part := range []int{1, 2, 3, 5, 7, 8, 9, 16, 100} {
		got := []byte(clientFrame(opText, true, want)[6:])
		f := frameReader{mask: [4]byte{1, 0x80, 0xff, 'x'}}
		for rest := got; len(rest) > 0; rest = rest[min(part, len(rest)):] {
			f.unmask(rest[:min(part, len(rest))])
		}
		if string(got) != want {
			t.Errorf("in parts of %d: %q", part, got)
		}
	}
}

// On a real socket, each wait for the network has a deadline of its own: that after an
// answer to a ping is later than that before it.
func TestInputWaits(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for name, raw := range map[string]syscall.RawConn{"raw": rawConn(server), "conn": nil} {
		waits := 0
		f := frameReader{limit: frameLimit, control: func(byte, []byte) error { return nil }}
		f.in = input{conn: server, raw: raw, before: func() { waits++ }, received: func(int) {}}
		for range 3 {
			before := waits
			io.WriteString(client, clientFrame(opPong, true, ""))
			err := f.in.await()
			if err == nil {
				_, err = f.next()
			}
			if err != nil || waits == before || f.in.buf != nil {
				t.Errorf("%s: read a pong, %v, with %d waits, and a buffer: %v", name, err, waits-before, f.in.buf != nil)
			}
		}
	}
}
