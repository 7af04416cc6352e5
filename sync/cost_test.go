package sync

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
)

// The estimate for a text is at least what its write takes at its peak, whatever it
// consists of.
func TestCostOfWrites(t *testing.T) {
	tier.Unraced(t)
	tier.Need(t, tier.Full)
	many := func(n int, open, item, end string) string {
		var b strings.Builder
		b.WriteString(open)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			if strings.Contains(item, "%") {
				fmt.Fprintf(&b, item, i*7919%1000003)
			} else {
				b.WriteString(item)
			}
		}
		b.WriteString(end)
		return b.String()
	}
	nested := strings.Repeat(`{"a":`, 30) + "1" + strings.Repeat("}", 30)
	for name, text := range map[string]string{
		"short values":   many(50_000, "{", `"k%07d":1`, "}"),
		"an array":       many(100_000, "[", `1`, "]"),
		"large numbers":  many(50_000, "[", `1e20`, "]"),
		"long keys":      many(10_000, "{", `"k%07d`+strings.Repeat("k", 500)+`":1`, "}"),
		"deep objects":   many(10_000, "{", `"k%07d":`+nested, "}"),
		"long strings":   many(8, "{", `"k%07d":"`+strings.Repeat("x", 1<<20)+`"`, "}"),
		"escaped quotes": many(1_000, "{", `"k%07d":"`+strings.Repeat(`\"`, 2000)+`"`, "}"),
	} {
		db := openTest(t, Options{File: filepath.Join(t.TempDir(), "a.db")})
		set(t, db, "/before", "1")
		took := peakOf(func() { set(t, db, "/x", text) })
		if estimate := CostOf(text); took > estimate+8<<20 {
			t.Errorf("%s: %d KiB of text took %d KiB, and were estimated at %d KiB", name, len(text)>>10, took>>10, estimate>>10)
		}
	}
}

// peakOf returns how much more memory is in use at a time while f runs, as far as that
// is seen, with little garbage.
func peakOf(f func()) (most int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	used := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	before, stop := used(), make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				most = max(most, used()-before)
			}
		}
	})
	f()
	close(stop)
	watch.Wait()
	return most
}

// A text costs the same in pieces and as a whole.
func TestCost(t *testing.T) {
	text := `{"a":[1,2,{"b":"x,y"}],"c":null}`
	var c Cost
	for i := range len(text) {
		c.Add([]byte(text[i : i+1]))
	}
	want := int64(len(text)*costOfByte + 7*costOfValue)
	if c.Memory() != want || CostOf(text) != want {
		t.Errorf("costs %d in pieces, %d as a whole, want %d", c.Memory(), CostOf(text), want)
	}
}

// answerOf returns the answer to what was sent last.
func answerOf(c *client) string {
	c.settle()
	return strings.Join(c.frames(), "")
}

// A testMemory grants what it has and never waits.
type testMemory struct {
	mu         sync.Mutex
	free, most int64
}

func (m *testMemory) Reserve(_ context.Context, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case n > m.most:
		return fault.ErrTooBig
	case n > m.free:
		return fault.ErrBusy
	}
	m.free -= n
	return nil
}

func (m *testMemory) Most() int64 { return m.most }

func (m *testMemory) Release(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free += n
}

// The writes of a session take memory until they are done, and are refused without
// effect where there is none.
func TestSessionMemory(t *testing.T) {
	db := openTest(t, Options{})
	m := &testMemory{free: 100_000, most: 100_000}
	c := connect(t, db, "a", 0)
	c.session.memory = m
	c.out.TakeFrom(m)
	large := strings.Repeat("x", 20_000)
	for i, test := range []struct{ request, want string }{
		{`"a":"p","b":{"p":"/a","d":1}`, `"s":"ok"`},
		{`"a":"p","b":{"p":"/a","d":"` + large + `"}`, `"s":"too_big"`},
		{`"a":"m","b":{"p":"/","d":{"a":"` + large + `"}}`, `"s":"too_big"`},
		{`"a":"o","b":{"p":"/a","d":"` + large + `"}`, `"s":"too_big"`},
		{`"a":"p","b":{"p":"/b","d":{"$":1}}`, `"s":"invalid_parameters"`},
		{`"a":"p","b":{"p":"/a","d":2}`, `"s":"ok"`},
	} {
		c.send(fmt.Sprintf(`{"r":%d,%s}`, i+1, test.request))
		if got := answerOf(c); !strings.Contains(got, test.want) {
			t.Errorf("%.60s: %.200s, want %s", test.request, got, test.want)
		}
	}
	m.Reserve(t.Context(), 100_000)
	c.send(`{"r":9,"a":"p","b":{"p":"/a","d":3}}`)
	if got := answerOf(c); !strings.Contains(got, `"s":"unavailable"`) {
		t.Errorf("without memory: %s", got)
	}
	m.Release(100_000)
	want(t, db, "/a", "2")
	if m.free != m.most {
		t.Errorf("%d bytes were not given back", m.most-m.free)
	}
}

// A read of a large value asks for its memory before it takes it, and for no more than
// it takes.
func TestReadsAskForMemory(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{})
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, `,"k%04d":"%s"`, i, strings.Repeat("x", 1000))
	}
	text := "{" + b.String()[1:] + "}"
	set(t, db, "/x", text)
	errFull := errors.New("full")
	for _, read := range []Read{
		{Path: tree.MustParsePath("/x"), Plain: true},
		{Path: tree.MustParsePath("/x"), Query: tree.Query{OrderBy: tree.ByKey, Limit: 2900}},
	} {
		var asked int64
		read.Caller = Admin
		read.Hold = func(total int64) error { asked = total; return nil }
		n, err := db.Get(t.Context(), read)
		if size := int64(len(n.Text())); err != nil || asked < size*9/10 || asked > 3*size+2<<20 {
			t.Errorf("a value of %d bytes asked for %d, %v", size, asked, err)
		}
		read.Hold = func(int64) error { return errFull }
		if _, err := db.Get(t.Context(), read); !errors.Is(err, errFull) {
			t.Errorf("without memory: %v", err)
		}
	}
	if got := get(t, db, "/x"); got != text {
		t.Error("the value is not what was written")
	}
}

// A get and an explanation take memory for what they read, and are refused where there is none.
func TestExplanationsAskForMemory(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{})
	set(t, db, "/", `{"large":"`+strings.Repeat("x", 3<<20)+`","small":1}`)
	m := &testMemory{free: 2 << 20, most: 2 << 20}
	c := connect(t, db, "a", 0)
	c.out.TakeFrom(m)
	for i, test := range []struct{ request, want string }{
		{`"a":"x","b":{"p":"/small"}`, `"s":"ok"`},
		{`"a":"g","b":{"p":"/large"}`, `"s":"too_big"`},
		{`"a":"x","b":{"p":"/large"}`, `"s":"too_big"`},
		{`"a":"x","b":{"p":"/large","q":{"i":".key","l":1}}`, `"s":"ok"`},
	} {
		c.send(fmt.Sprintf(`{"r":%d,%s}`, i+1, test.request))
		if got := answerOf(c); !strings.Contains(got, test.want) {
			t.Errorf("%s is answered %.200s, want %s", test.request, got, test.want)
		}
	}
	m.most, m.free = 64<<20, 64<<20
	c.send(`{"r":9,"a":"x","b":{"p":"/large"}}`)
	if got := answerOf(c); !strings.Contains(got, `"results":1`) {
		t.Errorf("with memory: %.200s", got)
	}
	if m.free != m.most {
		t.Errorf("%d bytes were not given back", m.most-m.free)
	}
}
