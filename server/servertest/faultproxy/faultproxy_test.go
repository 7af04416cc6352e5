package faultproxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// echo is a server that says what it hears. It returns its address, and a count of
// the bytes that it heard.
func echo(t *testing.T) (addr string, heard func() int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	count := 0
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				buf := make([]byte, 1<<10)
				for {
					n, err := c.Read(buf)
					mu.Lock()
					count += n
					mu.Unlock()
					if _, werr := c.Write(buf[:n]); err != nil || werr != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String(), func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

func listen(t *testing.T, target string, f Faults) *Proxy {
	t.Helper()
	p, err := Listen(target, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// talk sends pieces, each after the echo of the one before, and returns how much
// of the echo came before the connection broke.
func talk(t *testing.T, addr string, pieces int) (echoed int, err error) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for i := range pieces {
		piece := bytes.Repeat([]byte{byte(i)}, 100)
		if _, err := c.Write(piece); err != nil {
			return echoed, err
		}
		got := make([]byte, len(piece))
		n, err := io.ReadFull(c, got)
		if echoed += n; !bytes.Equal(got[:n], piece[:n]) {
			t.Fatal("the bytes are not those that were sent")
		}
		if err != nil {
			return echoed, err
		}
	}
	return echoed, nil
}

func TestNoFaults(t *testing.T) {
	addr, _ := echo(t)
	p := listen(t, addr, Faults{Late: 0.1, MaxDelay: time.Millisecond})
	if n, err := talk(t, p.Addr(), 100); n != 10_000 || err != nil || p.Breaks() != 0 {
		t.Errorf("%d bytes came, %v, %d breaks", n, err, p.Breaks())
	}
	if n := p.Answered(); n != 10_000 {
		t.Errorf("%d bytes are counted", n)
	}
}

// Each connection breaks, not always at the same place, and after Heal none does.
func TestCutAndHeal(t *testing.T) {
	addr, _ := echo(t)
	p := listen(t, addr, Faults{Cut: 1000, Seed: 1})
	places := make(map[int]bool)
	for range 10 {
		n, err := talk(t, p.Addr(), 1000)
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("no break: %v", err)
		}
		places[n] = true
	}
	if len(places) < 4 || p.Breaks() != 10 {
		t.Errorf("%d breaks after %v bytes", p.Breaks(), places)
	}
	p.Heal()
	if n, err := talk(t, p.Addr(), 100); n != 10_000 || err != nil {
		t.Errorf("after Heal: %d bytes came, %v", n, err)
	}
}

// A connection that falls silent loses answers to what the server has heard, or
// what the server should have heard.
func TestSilence(t *testing.T) {
	addr, heard := echo(t)
	p := listen(t, addr, Faults{Cut: 1000, Silent: 1, Silence: time.Millisecond, Seed: 2})
	answers, requests := 0, 0
	for range 20 {
		before := heard()
		n, err := talk(t, p.Addr(), 1000)
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("no break: %v", err)
		}
		if heard() > before+n {
			answers++
		} else {
			requests++
		}
	}
	if answers == 0 || requests == 0 {
		t.Errorf("%d answers and %d requests were lost", answers, requests)
	}
}

func TestServerIsGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	p := listen(t, l.Addr().String(), Faults{})
	if n, err := talk(t, p.Addr(), 1); err == nil {
		t.Errorf("%d bytes came from nobody", n)
	}
}
