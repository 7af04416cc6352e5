package realtime

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// TestPoolHandsOver: what the network does not take at once is sent when it
// does, in order and from the middle of a frame on, and no other client waits for it.
func TestPoolHandsOver(t *testing.T) {
	n := serveTest(t, Limits{OutboxBytes: 64 << 20})
	slow, quick := n.connect(), n.connect()
	for _, c := range []net.Conn{slow.ws.NetConn(), slow.c.sock.Load().conn} {
		c.(*net.TCPConn).SetReadBuffer(64 << 10)
		c.(*net.TCPConn).SetWriteBuffer(64 << 10)
	}
	message := func(i int) string { return fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, strings.Repeat("x", i%3000)) }
	out := slow.c.out
	const messages = 800 // 1 MB, far more than the network keeps
	for i := range messages {
		out.PushFrame([]byte(message(i)))
	}
	quick.c.out.PushFrame([]byte(message(1)))
	quick.want(message(1))
	for i := range messages {
		slow.want(message(i))
	}
	out.PushFrame([]byte(message(7)))
	slow.want(message(7))
}

// TestPoolShares: many sockets with something to write at the same time all get
// it, whatever the number of writers.
func TestPoolShares(t *testing.T) {
	n := serveTest(t, Limits{})
	n.pool.max = 3
	var clients []*client
	for range 4*perWriter + 1 {
		clients = append(clients, n.connect())
	}
	for round := range 20 {
		for _, c := range clients {
			c.c.out.PushFrame(fmt.Appendf(nil, `{"round":%d}`, round))
		}
	}
	for _, c := range clients {
		for round := range 20 {
			c.want(fmt.Sprintf(`{"round":%d}`, round))
		}
	}
}

// TestAwait: frames are found however the network cuts them, with answers to pings
// before, between and after them.
func TestAwait(t *testing.T) {
	n := serveTest(t, Limits{})
	const pong = "\x8a\x80abcd"
	frame := func(text string) string {
		head := []byte{0x81, 0x80 | byte(len(text))}
		if len(text) >= 126 {
			head = []byte{0x81, 0xfe, byte(len(text) >> 8), byte(len(text))}
		}
		return string(head) + "\x00\x00\x00\x00" + text
	}
	request := func(id int, pad string) string {
		return frame(fmt.Sprintf(`{"t":"d","d":{"r":%d,"a":"s","b":{"c":{%s}}}}`, id, pad))
	}
	stream := pong + request(1, "") + pong + pong + request(2, "") + request(3, `"`+strings.Repeat("x", 127)+`":1`) +
		"\x8a\x81abcd!" + request(4, `"`+strings.Repeat("x", 5000)+`":1`) + pong
	for _, step := range []int{1, 2, 5, 7, 100, len(stream)} {
		c := n.connect()
		for rest := stream; rest != ""; rest = rest[min(step, len(rest)):] {
			if _, err := c.ws.NetConn().Write([]byte(rest[:min(step, len(rest))])); err != nil {
				t.Fatal(err)
			}
		}
		for id := 1; id <= 4; id++ {
			c.want(fmt.Sprintf(`{"t":"d","d":{"r":%d,"b":{"s":"ok","d":""}}}`, id))
		}
	}
}

// BenchmarkDeliver is what one event costs for each of the sockets that it goes to,
// the system call included.
func BenchmarkDeliver(b *testing.B) {
	const clients = 25
	ts := serveTest(b, Limits{})
	text := []byte(fmt.Sprintf(`{"t":"d","d":{"a":"d","b":{"p":"x","d":%q}}}`, strings.Repeat("x", 350)))
	var readers []*client
	for range clients {
		c := ts.connect()
		c.ws.SetReadDeadline(time.Time{})
		readers = append(readers, c)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range readers {
			r.c.out.PushFrame(text)
		}
		for _, r := range readers {
			if _, _, err := r.ws.ReadMessage(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*clients), "ns/delivery")
}
