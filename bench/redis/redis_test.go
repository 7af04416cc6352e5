package redis

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/bench"
)

// serve answers commands with what reply says, until the test ends.
func serve(t *testing.T, reply func(words []string) string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				br := bufio.NewReader(c)
				for {
					words, err := readCommand(br)
					if err != nil {
						return
					}
					if _, err := io.WriteString(c, reply(words)); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

// readCommand reads an array of bulk strings.
func readCommand(br *bufio.Reader) (words []string, err error) {
	n, err := readNumber(br, '*')
	if err != nil {
		return nil, err
	}
	for range n {
		size, err := readNumber(br, '$')
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(br, text); err != nil {
			return nil, err
		}
		words = append(words, strings.TrimSuffix(string(text), "\r\n"))
	}
	return words, nil
}

func readNumber(br *bufio.Reader, kind byte) (int, error) {
	line, err := br.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("%q does not begin with %c", line, kind)
	}
	return strconv.Atoi(strings.TrimSuffix(line[1:], "\r\n"))
}

// Every write is a SET of a key of its own to an object of the size, and is counted once.
func TestSet(t *testing.T) {
	var mu sync.Mutex
	stored := map[string]string{}
	address := serve(t, func(words []string) string {
		mu.Lock()
		defer mu.Unlock()
		if len(words) != 3 || words[0] != "SET" {
			t.Errorf("got %q, want a SET", words)
		} else if stored[words[1]] = words[2]; strings.HasSuffix(words[1], "c1/k0000000007") {
			return "-MISCONF no\r\n"
		}
		return "+OK\r\n"
	})
	w := Set{bench.Set{Connections: 3, InFlight: 4, Size: 60}}
	res, err := bench.Run(t.Context(), w, bench.Options{Target: bench.Target{URL: Scheme + address}, Count: 300})
	if err != nil {
		t.Fatal(err)
	}
	if res.Failed > 1 || res.Count+res.Failed != 300 || res.PerSecond <= 0 || res.Workload != "set" {
		t.Errorf("%d done, %d failed at %g per second; want 300", res.Count, res.Failed, res.PerSecond)
	}
	if res.Failed == 1 && res.Reason != "-MISCONF no" {
		t.Errorf("the failure is %q", res.Reason)
	}
	if len(stored) != 300 {
		t.Errorf("%d keys, want 300", len(stored))
	}
	for key, value := range stored {
		if !strings.HasPrefix(key, "set/c") || len(value) != 60 || value[0] != '{' {
			t.Fatalf("%s has %q, want an object of 60 bytes", key, value)
		}
	}
}

// A reply of another form, or one too many, ends a load with an error.
func TestBadReplies(t *testing.T) {
	for _, reply := range []string{"$2\r\nOK\r\n", "+OK\n", "\r\n", "+" + strings.Repeat("x", 2*readBuffer) + "\r\n", "+OK\r\n+OK\r\n+OK\r\n"} {
		address := serve(t, func([]string) string { return reply })
		_, err := bench.Run(t.Context(), Set{bench.Set{Connections: 1, InFlight: 1}}, bench.Options{Target: bench.Target{URL: Scheme + address}, Count: 1000})
		if err == nil {
			t.Errorf("%.20q: no error", reply)
		}
	}
	_, err := bench.Run(t.Context(), Set{}, bench.Options{Target: bench.Target{URL: "http://127.0.0.1:1"}, Count: 1})
	if err == nil || !strings.Contains(err.Error(), "redis://") {
		t.Errorf("a wrong address: %v", err)
	}
}

func TestPing(t *testing.T) {
	for reply, want := range map[string]string{"+PONG\r\n": "", "-LOADING later\r\n": "LOADING", "-NOAUTH\r\n": "NOAUTH"} {
		c, err := Dial(context.Background(), serve(t, func(words []string) string {
			if len(words) != 1 || words[0] != "PING" {
				t.Errorf("got %q, want PING", words)
			}
			return reply
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Ping(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", reply, err)
		}
	}
}
