package realtime

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func TestAppendFrame(t *testing.T) {
	for n, header := range map[int]string{
		0:         "\x81\x00",
		1:         "\x81\x01",
		125:       "\x81\x7d",
		126:       "\x81\x7e\x00\x7e",
		1<<16 - 1: "\x81\x7e\xff\xff",
		1 << 16:   "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00",
	} {
		payload := strings.Repeat("x", n)
		if got := string(appendFrame(nil, opText, []byte(payload))); got != header+payload {
			t.Errorf("%d bytes: header %q, want %q", n, got[:len(got)-n], header)
		}
	}
}

func TestAppendCloseFrame(t *testing.T) {
	reason := strings.Repeat("x", 122)
	got := appendCloseFrame(nil, closeReason{closePolicy, reason + "€"})
	if want := "\x88\x7c\x03\xf0" + reason; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// BenchmarkSocketWrite sends events of usual size to one client, through a
// socket and, for comparison, one system call each.
func BenchmarkSocketWrite(b *testing.B) {
	msg := []byte(fmt.Sprintf(`{"t":"d","d":{"a":"d","b":{"p":"x","d":%q}}}`, strings.Repeat("x", 150)))
	b.Run("joined", func(b *testing.B) {
		c, done := benchConn(b, b.N*(len(msg)+4))
		b.ResetTimer()
		for range b.N {
			c.out.PushFrame(msg)
			c.out.Wait(context.Background())
		}
		<-done
	})
	b.Run("each", func(b *testing.B) {
		c, done := benchConn(b, b.N*(len(msg)+4))
		var frame []byte
		b.ResetTimer()
		for range b.N {
			frame = appendFrame(frame[:0], opText, msg)
			if _, err := c.sock.Load().conn.Write(frame); err != nil {
				b.Fatal(err)
			}
		}
		<-done
	})
}

// benchConn returns the server's side of a connection whose client has read
// total bytes when done is closed.
func benchConn(b *testing.B, total int) (c *conn, done chan struct{}) {
	client := serveTest(b, Limits{}).connect()
	client.ws.SetReadDeadline(time.Time{})
	done = make(chan struct{})
	go func() {
		defer close(done)
		if _, err := io.CopyN(io.Discard, client.ws.NetConn(), int64(total)); err != nil {
			b.Error(err)
		}
	}()
	return client.c, done
}
