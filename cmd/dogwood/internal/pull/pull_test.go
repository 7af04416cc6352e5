package pull

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/tree"
)

// A firebase answers as Firebase documents it: priorities with format=export only, shallow
// without other parameters, and a refusal of what is too large.
type firebase struct {
	root      tree.Node
	most      int  // bytes of an answer
	noQueries bool // of nodes above most, as Firebase answers for the largest
	fails     int  // requests that fail before one succeeds
	secret    string

	asked   []string
	failing int
}

const textTooBig = "Data requested exceeds the maximum size that can be accessed with a single request. Contact support@firebase.com for help."

func (f *firebase) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	fail := func(status int, text string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": text})
	}
	q := r.URL.Query()
	if q.Get("auth") != f.secret || r.Header.Get("Authorization") != "" {
		fail(http.StatusUnauthorized, "Permission denied")
		return
	}
	q.Del("auth")
	f.asked = append(f.asked, r.URL.Path+" "+q.Encode())
	if f.failing++; f.failing <= f.fails {
		fail(http.StatusServiceUnavailable, "try later")
		return
	}
	f.failing = 0
	path := strings.TrimSuffix(r.URL.Path, ".json")
	if at, ok := strings.CutSuffix(path, "/.priority"); ok {
		p := f.root.Get(tree.MustParsePath(at)).Priority()
		_, _ = io.WriteString(w, p.JSON())
		return
	}
	n := f.root.Get(tree.MustParsePath(path))
	if q.Get("shallow") == "true" {
		if len(q) > 1 {
			fail(http.StatusBadRequest, "Shallow cannot be used with any other query parameters")
			return
		}
		if n.IsLeaf() {
			_, _ = io.WriteString(w, string(tree.AppendPlain(nil, n)))
			return
		}
		keys := map[string]bool{}
		for key := range n.Children() {
			keys[key] = true
		}
		_ = json.NewEncoder(w).Encode(keys)
		return
	}
	if q.Has("orderBy") {
		if f.noQueries && len(n.JSON()) > f.most {
			fail(http.StatusBadRequest, textTooBig)
			return
		}
		n = between(n, q)
	}
	text := string(tree.AppendPlain(nil, n))
	if q.Get("format") == "export" {
		text = n.JSON()
	}
	if len(text) > f.most {
		fail(http.StatusBadRequest, textTooBig)
		return
	}
	_, _ = io.WriteString(w, text)
}

// between returns the children from startAt to endAt.
func between(n tree.Node, q url.Values) tree.Node {
	var from, to string
	if json.Unmarshal([]byte(q.Get("startAt")), &from) != nil || json.Unmarshal([]byte(q.Get("endAt")), &to) != nil {
		panic("the bounds are no texts")
	}
	some := tree.Empty
	for key, child := range n.Children() {
		if tree.CompareKeys(key, from) >= 0 && tree.CompareKeys(key, to) <= 0 {
			some = some.With(tree.MustParsePath(key), child)
		}
	}
	return some
}

func world() tree.Node {
	var b strings.Builder
	b.WriteString(`{".priority":7,"empty":{"x":{".value":1,".priority":"p"}},"list":[10,null,30],"text":"é\"","rooms":{".priority":3`)
	for i := range 500 {
		fmt.Fprintf(&b, `,"r%03d":{"name":"room %d",".priority":%d}`, i, i, i)
	}
	b.WriteString(`},"numbers":{`)
	for i := range 300 {
		fmt.Fprintf(&b, `"%d":%d,`, i*7, i)
	}
	b.WriteString(`"last":true}}`)
	return tree.MustParseNode(b.String())
}

func read(t *testing.T, f *firebase, credential string) (string, *reader, []time.Duration, error) {
	t.Helper()
	server := httptest.NewServer(f)
	defer server.Close()
	var log strings.Builder
	e := &console.Env{Ctx: t.Context(), Stdout: io.Discard, Stderr: &log}
	from, err := client.NewSource(e, server.URL, credential)
	if err != nil {
		t.Fatal(err)
	}
	var pauses []time.Duration
	r := &reader{env: e, from: from, most: 1 << 20, show: func(string) {}, pause: func(d time.Duration) error {
		pauses = append(pauses, d)
		return nil
	}}
	var out strings.Builder
	_, err = r.copy(&out, "", "")
	if err != nil && credential != "" && strings.Contains(err.Error(), credential) {
		t.Errorf("the error has the credential: %v", err)
	}
	return out.String(), r, pauses, err
}

// Whatever the limit, the result is the same tree. A part that is too large is divided.
func TestParts(t *testing.T) {
	want := world()
	for _, noQueries := range []bool{false, true} {
		for _, most := range []int{1 << 20, 20_000, 3000, 200, 60} {
			f := &firebase{root: want, most: most, noQueries: noQueries, secret: "sesame"}
			text, r, pauses, err := read(t, f, "sesame")
			if err != nil || len(pauses) > 0 {
				t.Fatalf("with %d bytes: %v, pauses %v", most, err, pauses)
			}
			got, err := tree.ParseNode(text)
			if err != nil || got != want {
				t.Errorf("with %d bytes: another tree, %v", most, err)
			}
			if once := most == 1<<20; once != (r.parts == 1) || once != (len(f.asked) == 1) {
				t.Errorf("with %d bytes: %d parts, %d requests", most, r.parts, len(f.asked))
			}
			if !noQueries && most == 3000 && len(f.asked) > 80 {
				t.Errorf("%d requests where many children fit into one", len(f.asked))
			}
			if most == 20_000 && !slices.Contains(f.asked, "/.json shallow=true") {
				t.Errorf("no list of keys was asked for: %q", f.asked)
			}
		}
	}
}

// Requests that fail for the moment are sent again, later and later, and not for ever.
func TestTries(t *testing.T) {
	want := world()
	f := &firebase{root: want, most: 20_000, fails: 2}
	text, _, pauses, err := read(t, f, "")
	if err != nil || tree.MustParseNode(text) != want {
		t.Fatalf("%v", err)
	}
	if len(pauses) < 4 || pauses[0] > time.Second || pauses[1] > 2*time.Second || pauses[1] < time.Second {
		t.Errorf("pauses are %v", pauses)
	}
	f = &firebase{root: want, most: 1 << 20, fails: 1000}
	_, _, pauses, err = read(t, f, "")
	if err == nil || !strings.Contains(err.Error(), "try later (tried 6 times)") || len(pauses) != maxTries-1 {
		t.Errorf("%v after %v", err, pauses)
	}
	if last := pauses[len(pauses)-1]; last > maxPause {
		t.Errorf("it paused for %v", last)
	}
}

// A refusal ends it at once, and says what to do.
func TestRefused(t *testing.T) {
	for credential, want := range map[string]string{"": "pass a credential with --auth-file", "wrong": "the credential of --auth-file"} {
		_, _, pauses, err := read(t, &firebase{secret: "sesame"}, credential)
		if err == nil || !strings.Contains(err.Error(), want) || len(pauses) > 0 {
			t.Errorf("with %q: %v after %v", credential, err, pauses)
		}
	}
}

// A leaf that is too large cannot be divided, and children that were not asked for are not
// taken.
func TestImpossible(t *testing.T) {
	f := &firebase{root: tree.String(strings.Repeat("x", 100)), most: 60}
	if _, _, _, err := read(t, f, ""); err == nil || !strings.Contains(err.Error(), "too large for one answer") {
		t.Errorf("a leaf: %v", err)
	}
	o := &object{w: io.Discard}
	if err := o.children(tree.MustParseNode(`{"a":1,"c":2}`), []string{"a", "b"}); err == nil {
		t.Error("a child beyond the range was taken")
	}
}

// Access tokens go into a header and nowhere else, and no redirect gets a credential.
func TestCredentials(t *testing.T) {
	var got []string
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = append(got, "away") }))
	defer away.Close()
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization")+"|"+r.URL.Query().Get("auth"))
		http.Redirect(w, r, away.URL, http.StatusFound)
	}))
	defer home.Close()
	e := &console.Env{Ctx: t.Context(), Stderr: io.Discard}
	for credential, want := range map[string]string{"ya29.x": "Bearer ya29.x|", "sesame": "|sesame"} {
		got = nil
		from, err := client.NewSource(e, home.URL, credential)
		if err != nil {
			t.Fatal(err)
		}
		_, err = from.Get(e, "", maps.Clone(export))
		if refused := (*client.ServerError)(nil); !errors.As(err, &refused) || !slices.Equal(got, []string{want}) {
			t.Errorf("%q was sent as %q, %v", credential, got, err)
		}
	}
}
