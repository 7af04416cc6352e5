package server

import (
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/sync/wire"
)

func TestReadText(t *testing.T) {
	b := limit.NewMeter(1 << 20)
	for n, held := range map[int]int64{
		0:                0,
		1:                0,
		smallMessage:     0,
		smallMessage + 1: wire.MaxUnit,
		wire.MaxUnit:     wire.MaxUnit,
		100_000:          128 << 10,
		300_000:          300_000, // the limit
	} {
		in := collector{held: limit.Hold{Of: b.All()}}
		in.frames.MaxBytes = 300_000
		want := strings.Repeat("x", n)
		got, err := readText(iotest.HalfReader(strings.NewReader(want)), &in)
		if err != nil || got != want {
			t.Errorf("%d bytes: read %d, error %v", n, len(got), err)
		}
		if used := b.Used(); used < held || used > held+held/4 { // the runtime rounds up
			t.Errorf("%d bytes: %d are held, want %d", n, used, held)
		}
		if msg, done, err := in.add(got); n > 0 && (msg != want || !done || err != nil) {
			t.Errorf("%d bytes: done %v, error %v", n, done, err)
		}
		in.forget()
		if used := b.Used(); used != 0 {
			t.Errorf("%d bytes: %d were not given back", n, used)
		}
	}
}

// TestReadTextOfPieces: the bytes of a piece count once.
func TestReadTextOfPieces(t *testing.T) {
	b := limit.NewMeter(1 << 20)
	in := collector{held: limit.Hold{Of: b.All()}}
	in.add("9")
	for i := range int64(3) {
		text, err := readText(strings.NewReader(strings.Repeat("x", wire.MaxUnit)), &in)
		if err != nil {
			t.Fatal(err)
		}
		in.add(text)
		if used, want := b.Used(), 1+(i+1)*wire.MaxUnit; used != want {
			t.Errorf("%d pieces: %d are held, want %d", i+1, used, want)
		}
	}
}

func TestReadTextCut(t *testing.T) {
	in := collector{held: limit.Hold{Of: limit.NewMeter(0).All()}}
	r := io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if text, err := readText(r, &in); err != io.ErrUnexpectedEOF {
		t.Errorf("read %q, %v, want an unexpected end", text, err)
	}
}

// TestReadTextAllocs: a small message costs its text and no budget.
func TestReadTextAllocs(t *testing.T) {
	in := collector{} // to use its budget would panic
	for _, n := range []int{100, smallMessage} {
		r := strings.NewReader(strings.Repeat("x", n))
		if allocs := testing.AllocsPerRun(100, func() {
			r.Seek(0, io.SeekStart)
			text, err := readText(r, &in)
			if err != nil || len(text) != n {
				t.Errorf("read %d bytes, %v", len(text), err)
			}
			in.forget()
		}); allocs > 1 {
			t.Errorf("%d bytes: %v allocations, want 1", n, allocs)
		}
	}
}

// TestUnfinishedMessages: those of all clients are bounded together, and what
// clients had begun is given back when they leave.
func TestUnfinishedMessages(t *testing.T) {
	const limit = 1 << 20
	n := onSocket(t, Options{Dev: true, Limits: Limits{MaxBodiesBytes: limit}})
	begin := binary.BigEndian.AppendUint64([]byte{final | opText, 0xff}, 2<<20)
	begin = append(begin, make([]byte, 4+400_000)...)
	var clients []*wsClient
	for range 2 {
		c := n.connect("")
		if _, err := c.ws.NetConn().Write(begin); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	waitFor(t, "the meter to be used", func() bool { return n.all.Bodies.Meter().Used() >= 800_000 })
	late := n.connect("")
	late.ws.NetConn().Write(begin)
	late.wantClose(closeTryAgain)
	if used := n.all.Bodies.Meter().Used(); used > limit {
		t.Errorf("%d bytes are held, want at most %d", used, limit)
	}
	n.connect("").do("s", `{"c":{}}`) // small messages need no budget

	for _, c := range clients {
		c.ws.Close()
	}
	waitFor(t, "the meter to be given back", func() bool { return n.all.Bodies.Meter().Used() == 0 })
	c := n.connect("")
	c.do("p", `{"p":"/x","d":"`+strings.Repeat("x", 300_000)+`"}`)
	waitFor(t, "the meter to be given back", func() bool { return n.all.Bodies.Meter().Used() == 0 })
	c.ws.WriteControl(websocket.CloseMessage, nil, time.Now().Add(time.Second))
	c.wantClose(closeNormal)
}
