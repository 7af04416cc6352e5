package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const streamWriters = 4

// TestStreamOverKills: a client of an event stream that comes back with the id of its last
// event gets every acknowledged write once, and no other view, over kills and restarts of the
// server.
func TestStreamOverKills(t *testing.T) {
	f := streamFollower{T: t, dir: t.TempDir(), seen: make(map[string]int), model: make(map[string]any)}
	rnd := rand.New(rand.NewPCG(3, 16))
	for round := range killRounds() {
		f.round(round%4 != 3, 1+rnd.Int32N(300))
	}
	f.round(false, 0) // what was written when the server stopped comes now
	for i := range streamWriters {
		for n := range f.acked[i] {
			if key := streamKey(i, n); f.seen[key] != 1 {
				t.Errorf("the write of %s was seen %d times", key, f.seen[key])
			}
		}
		if f.acked[i] == 0 {
			t.Errorf("writer %d has written nothing", i)
		}
	}
	for key, times := range f.seen {
		if times != 1 {
			t.Errorf("the write of %s was seen %d times", key, times)
		}
	}
	if f.whole != 1 {
		t.Errorf("the client was sent the whole view %d times", f.whole)
	}
}

func streamKey(writer, n int) string { return fmt.Sprintf("w%d/n%d", writer, n) }

// A streamFollower is a client that comes back, and some writers.
type streamFollower struct {
	*testing.T
	dir   string
	acked [streamWriters]int // writes 0 to acked-1 of each writer were answered
	next  [streamWriters]int

	id    string // of the last event
	model map[string]any
	seen  map[string]int // by path
	whole int            // events that had all of the view
}

// round runs a server until so many writes were answered. kills says how it ends then. Before
// the writes, what the client has must be what is stored.
func (f *streamFollower) round(kills bool, writes int32) {
	f.Helper()
	s := startListening(f.T, exec.Command("dogwood", "dev", "--port", "0", "--data", f.dir))
	end := s.kill
	if !kills {
		end = func() { _ = s.stop() }
	}
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	if f.id == "" { // an empty database has no commit that is a position
		if _, _, err := request(ctx, "PUT", s.url+"/other.json", "owner", "1"); err != nil {
			f.Fatal(err)
		}
	}
	events := f.open(ctx, s.url)
	f.event(events)
	_, text, err := request(ctx, "GET", s.url+"/log.json", "owner", "")
	var stored map[string]any
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		f.Fatal(err)
	}
	if err != nil || !reflect.DeepEqual(stored, f.model) && len(stored)+len(f.model) > 0 {
		f.Fatalf("after it came back the client has %d values of %d: %v", len(f.model), len(stored), err)
	}
	if writes == 0 {
		end()
		return
	}
	var left atomic.Int32
	left.Store(writes)
	var wg sync.WaitGroup
	for i := range streamWriters {
		wg.Go(func() { f.write(ctx, s.url, i, &left, end) })
	}
	for f.event(events) {
	}
	wg.Wait()
}

// write writes until the server has ended, and ends it when enough was written.
func (f *streamFollower) write(ctx context.Context, url string, i int, left *atomic.Int32, end func()) {
	for {
		n := f.next[i]
		f.next[i]++
		method, target, body := "PUT", "/log/"+streamKey(i, n)+".json", fmt.Sprintf("%q", strings.Repeat("x", n%400))
		if n%3 == 0 {
			method, target, body = "PATCH", "/log.json", fmt.Sprintf(`{%q: %s}`, streamKey(i, n), body)
		}
		status, _, err := request(ctx, method, url+target, "owner", body)
		if err != nil || status != 200 {
			f.next[i] = n // it was written or not
			return
		}
		f.acked[i] = n + 1
		if left.Add(-1) == 0 {
			end()
		}
	}
}

// open opens the stream.
func (f *streamFollower) open(ctx context.Context, url string) *bufio.Reader {
	f.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", url+"/log.json", nil)
	if err != nil {
		f.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Last-Event-ID", f.id)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 {
		f.Fatal(resp.Status)
	}
	return bufio.NewReader(resp.Body)
}

// event takes the next event. One that breaks off does not count. It returns false at the end.
func (f *streamFollower) event(in *bufio.Reader) bool {
	f.Helper()
	fields := make(map[string]string)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return false
		}
		if line == "\n" {
			break
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		fields[name] = value
	}
	if id := fields["id"]; id != "" {
		f.id = id
	}
	var data struct {
		Path string
		Data any
	}
	switch err := json.Unmarshal([]byte(fields["data"]), &data); {
	case err != nil:
		f.Fatal(err)
	case fields["event"] == "put":
		f.put(data.Path, data.Data)
	case fields["event"] == "patch":
		for key, value := range data.Data.(map[string]any) {
			f.put(data.Path+"/"+key, value)
		}
	}
	return true
}

// put puts a value into the model. Each is written once.
func (f *streamFollower) put(path string, value any) {
	path = strings.Trim(path, "/")
	if path == "" {
		f.whole++
		f.model, _ = value.(map[string]any)
		if f.model == nil {
			f.model = make(map[string]any)
		}
		return
	}
	f.seen[path]++
	writer, key, _ := strings.Cut(path, "/")
	of, _ := f.model[writer].(map[string]any)
	if of == nil {
		of = make(map[string]any)
		f.model[writer] = of
	}
	of[key] = value
}
