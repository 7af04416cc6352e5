package bare

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// serve starts a server. The returned function waits until all its connections
// have ended.
func serve(t *testing.T) (s *Server, url string, ended func()) {
	t.Helper()
	s = new(Server)
	var serving sync.WaitGroup
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serving.Add(1)
		defer serving.Done()
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		h.Close()
	})
	return s, h.URL, serving.Wait
}

// Every workload that the server is for runs on it without a failure, and what
// had followed something is forgotten.
func TestWorkloads(t *testing.T) {
	for _, w := range []bench.Workload{
		bench.Set{Connections: 3, InFlight: 4},
		bench.Set{Connections: 1, InFlight: 2, Size: 100_000}, // in pieces
		bench.Chat{Rooms: 2, Members: 3},
		bench.Chat{Rooms: 1, Members: 2, Rules: bench.RulesChat},
		bench.Fanout{Subscribers: 5, InFlight: 3},
		bench.Fanout{Subscribers: 2, Size: 100_000}, // more than waits
		bench.RESTGet{Sockets: 2},
		bench.RESTPut{Sockets: 2},
	} {
		s, url, ended := serve(t)
		const count = 60
		res, err := bench.Run(t.Context(), w, bench.Options{Target: bench.Target{URL: url, Namespace: "n", Secret: "owner"}, Count: count})
		if err != nil {
			t.Errorf("%s: %v", w.Name(), err)
			continue
		}
		if res.Count < count || res.Failed > 0 || res.PerSecond <= 0 {
			t.Errorf("%s: %d done at %.0f/s, %d failed with %q; want %d and no failure", w.Name(), res.Count, res.PerSecond, res.Failed, res.Reason, count)
		}
		for _, m := range res.Measures {
			if m.Name == "skipped" {
				t.Errorf("%s: %.0f deliveries were skipped", w.Name(), m.Value)
			}
		}
		ended()
		if n := len(s.followers); n > 0 {
			t.Errorf("%s: %d paths are followed when everybody has left", w.Name(), n)
		}
	}
}

// A read has as many bytes as the value that was written, a write answers what
// it wrote, and the database is empty.
func TestREST(t *testing.T) {
	_, url, _ := serve(t)
	ask := func(method, path, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s %s: %s, %v", method, path, resp.Status, err)
		}
		return string(text)
	}
	res, err := bench.Run(t.Context(), bench.RESTGet{}, bench.Options{Target: bench.Target{URL: url}, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(ask("GET", "/rest/value.json", "")), res.Settings.(bench.RESTGet).Size; got != want {
		t.Errorf("a read answers %d bytes, the value has %d", got, want)
	}
	if got := ask("PUT", "/rest/a.json?ns=x", `{"n":7}`); got != `{"n":7}` {
		t.Errorf("a write of {\"n\":7} answers %q", got)
	}
	if got := ask("GET", "/.json?shallow=true", ""); got != "null" {
		t.Errorf("an empty database answers %q, want null", got)
	}
}

// A message that no generator sends ends the connection, and nothing else.
func TestStrangers(t *testing.T) {
	listens := make([]string, maxFollows+1)
	for i := range listens {
		listens[i] = `{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","h":""}}}`
	}
	for _, frames := range [][]string{
		{`hello`}, {`nonsense`}, {`{"t":"d","d":{}}`}, {`{"t":"d","d":{"r":1,"a":"p","b":{"p":`},
		{`{"t":"d","d":{"r":` + strings.Repeat("1", 21) + `,"a":"s","b":{}}}`}, listens,
		append([]string{"9999"}, strings.Split(strings.Repeat(strings.Repeat("x", maxFrame)+" ", maxMessage/maxFrame+1), " ")...),
	} {
		_, url, ended := serve(t)
		ws := dial(t, url)
		for _, f := range frames {
			if say(ws, f) != nil {
				break // it has had enough
			}
		}
		for {
			if _, _, err := ws.ReadMessage(); err != nil {
				break
			}
		}
		ended() // without our having closed it
		ws.Close()
	}
}
