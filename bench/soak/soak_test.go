package soak

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// A view follows pushes in every form, and notices each one that is missing.
func TestViewFindsWhatIsMissing(t *testing.T) {
	const whole = `list/s0 d {"k0000000001":{"n":1},"k0000000002":{"n":2}}`
	for _, c := range []struct {
		name   string
		pushes []string
		first  int64
		last   int64
		fault  string
	}{
		{"one by one", []string{whole, `list/s0/k0000000003 d {"n":3}`, `list/s0/k0000000001 d null`}, 2, 3, ""},
		{"merged", []string{whole, `list/s0 m {"k0000000001":null,"k0000000003":{"n":3}}`}, 2, 3, ""},
		{"from above", []string{whole, `list m {"s0/k0000000001":null,"s0/k0000000003":{"n":3}}`}, 2, 3, ""},
		{"whole again", []string{whole, `list d {"s0":{"k0000000004":{"n":4},"k0000000005":{"n":5}}}`}, 4, 5, ""},
		{"no addition", []string{whole, `list/s0/k0000000004 d {"n":4}`}, 1, 2, "message 4 follows message 2: an event is missing"},
		{"twice", []string{whole, `list/s0/k0000000002 d {"n":2}`}, 1, 2, "message 2 follows message 2: an event is missing"},
		{"no removal", []string{whole, `list/s0/k0000000002 d null`}, 1, 2, "message 2 is removed, the first one is 1: an event is missing"},
		{"hole", []string{`list/s0 d {"k0000000001":{"n":1},"k0000000003":{"n":3}}`}, 1, 3, "there are 2 messages from 1 to 3"},
		{"back in time", []string{whole, `list/s0 d {"k0000000001":{"n":1}}`}, 1, 1, "the view ends with message 1, message 2 was there before"},
		{"nothing", []string{whole, `list/s0 d null`}, 1, 2, "the view is empty"},
		{"elsewhere", []string{`last/s0 d 1`}, 0, -1, "a push for /last/s0"},
		{"another stream", []string{`list/s7 d 1`}, 0, -1, "a push for /list/s7"},
		{"another kind", []string{`list/s0 c null`}, 0, -1, `a push of kind "c"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newView([]*stream{newStream(Workload{Keep: 2}, 0)})
			var err error
			for _, push := range c.pushes {
				parts := strings.SplitN(push, " ", 3)
				if _, err = v.apply(&wire.ServerMessage{Path: []byte(parts[0]), Push: parts[1], Data: []byte(parts[2])}); err != nil {
					break
				}
			}
			if err == nil != (c.fault == "") || err != nil && err.Error() != c.fault {
				t.Errorf("fault: %v, want %q", err, c.fault)
			}
			if p := v.streams["s0"]; p.first != c.first || p.last != c.last {
				t.Errorf("the view has messages %d to %d, want %d to %d", p.first, p.last, c.first, c.last)
			}
		})
	}
}

// Posts that were acknowledged before a client connects are in its first view.
func TestViewHasWhatWasAcknowledged(t *testing.T) {
	p := &part{last: -1, rows: make(map[int64]string), floor: 3}
	if err := p.load([]byte(`{"k0000000001":{"n":1},"k0000000002":{"n":2}}`)); err == nil {
		t.Error("the view lacks message 3 and is taken")
	}
	if err := p.load([]byte(`{"k0000000003":{"n":3}}`)); err != nil {
		t.Error(err)
	}
}

func TestViewDiffers(t *testing.T) {
	p := &part{last: -1, rows: make(map[int64]string)}
	const text = `{"k0000000001":{"n":1},"k0000000002":{"n":2},"k0000000003":{"n":3}}`
	if err := p.load([]byte(text)); err != nil {
		t.Fatal(err)
	}
	for have, differs := range map[string]bool{
		text: false,
		`{"k0000000001":{"n":1},"k0000000002":{"n":2}}`:                       true,
		`{"k0000000001":{"n":1},"k0000000002":{"n":9},"k0000000003":{"n":3}}`: true,
		`{"k0000000004":{"n":1},"k0000000002":{"n":2},"k0000000003":{"n":3}}`: true,
	} {
		var rows map[string]json.RawMessage
		if err := json.Unmarshal([]byte(have), &rows); err != nil {
			t.Fatal(err)
		}
		if err := p.differs(rows); (err != nil) != differs {
			t.Errorf("compared with %s: %v", have, err)
		}
	}
	if got := lastOf(map[string]json.RawMessage{"a": nil, "b": nil, "c": nil}, 2); len(got) != 2 || got["a"] != nil {
		t.Errorf("the last 2 of 3 are %v", got)
	}
}

// A post is one update that adds a message, removes one, and moves the pointer.
func TestSoakPost(t *testing.T) {
	st := newStream(Workload{Keep: 10, Size: 9}, 3)
	got := string(st.appendPost(nil, 12, 5*time.Microsecond))
	const want = `{"list/s3/k0000000012":{"at":5,"n":12,"text":"the quick"},"list/s3/k0000000002":null,"last/s3":12}`
	if got != want {
		t.Errorf("a post is\n%s, want\n%s", got, want)
	}
}

// Growth is found, breathing is not, and what is unknown is not judged.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name   string
		every  time.Duration
		health func(i int) bench.Health
		faults int
	}{
		{"unknown", 2 * time.Second, func(int) bench.Health { return bench.Health{} }, 0},
		{"flat", 2 * time.Second, func(i int) bench.Health {
			return bench.Health{ResidentMiB: 100 + float64(i%10), HeapMiB: 50, Goroutines: 90}
		}, 0},
		{"peaks", 2 * time.Second, func(i int) bench.Health { return bench.Health{Goroutines: 90 + 500*float64(i%10/9)} }, 0},
		{"early growth", 2 * time.Second, func(i int) bench.Health { return bench.Health{ResidentMiB: min(300, 50+20*float64(i))} }, 0},
		{"memory", 2 * time.Second, func(i int) bench.Health {
			return bench.Health{ResidentMiB: 100 + 2*float64(i), HeapMiB: 50 + float64(i)}
		}, 2},
		{"goroutines", 2 * time.Second, func(i int) bench.Health { return bench.Health{Goroutines: 90 + float64(i)} }, 1},
		{"growth in a short run", time.Second, func(i int) bench.Health { return bench.Health{Goroutines: 90 + float64(i)} }, 0},
	} {
		s := &soak{Load: &bench.Load{}}
		for i := range 100 {
			s.readings = append(s.readings, reading{time.Duration(i) * c.every, c.health(i)})
		}
		if s.judge(); len(s.Faults()) != c.faults {
			t.Errorf("%s: %q, want %d faults", c.name, s.Faults(), c.faults)
		}
	}
}

// TestIsReset: that the other side has gone is known from what is read and written then.
func TestIsReset(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, true},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, true},
		{fmt.Errorf("follow list: %w", io.EOF), true},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, false},
		{&connect.RefusedError{Status: "permission_denied", Text: ""}, false},
	} {
		if got := isReset(test.err); got != test.want {
			t.Errorf("isReset(%v) = %t, want %t", test.err, got, test.want)
		}
	}
}
