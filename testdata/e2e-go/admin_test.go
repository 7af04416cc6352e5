package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/db"
)

var (
	serverURL string // of the server under test
	binary    string // that runs it
)

func TestMain(m *testing.M) {
	// The system's certificates are read once, when they are first needed.
	if err := os.Setenv("SSL_CERT_FILE", certificate); err != nil {
		panic(err)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dogwood-e2e")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	bin := os.Getenv("DOGWOOD_BIN")
	if bin == "" {
		bin = filepath.Join(dir, "dogwood")
		build := exec.Command("go", "build", "-o", bin, "./cmd/dogwood")
		build.Dir = "../.."
		if out, err := build.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("%v: %s", err, out))
		}
	}
	binary = bin
	server := exec.Command(bin, "dev", "--port", "0")
	out, err := server.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		panic(err)
	}
	serverURL = strings.TrimSpace(strings.TrimPrefix(line, "Listening on "))
	return m.Run()
}

// client returns an Admin SDK client for a namespace of the test's own, and a
// reference to seeded data.
func client(t *testing.T) (context.Context, *db.Client) {
	t.Helper()
	u, err := url.Parse(serverURL)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	// The SDK takes host names only, no addresses.
	t.Setenv("FIREBASE_DATABASE_EMULATOR_HOST", "localhost:"+u.Port()+"?ns="+name)
	ctx := t.Context()
	app, err := firebase.NewApp(ctx, &firebase.Config{ProjectID: name, DatabaseURL: "https://" + name + ".firebaseio.com"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := app.Database(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, c
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s = %#v, want %#v", what, got, want)
	}
}

type dino struct {
	Height float64 `json:"height"`
	Name   string  `json:"name,omitempty"`
}

func TestSetGetDelete(t *testing.T) {
	ctx, c := client(t)
	ref := c.NewRef("go/a b/ü")
	ok(t, ref.Set(ctx, dino{2.5, "Lambeo & <co>"}))
	var got dino
	ok(t, ref.Get(ctx, &got))
	want(t, "value", got, dino{2.5, "Lambeo & <co>"})
	var all map[string]map[string]map[string]any
	ok(t, c.NewRef("/").Get(ctx, &all))
	want(t, "root", all, map[string]map[string]map[string]any{"go": {"a b": {"ü": map[string]any{"height": 2.5, "name": "Lambeo & <co>"}}}})
	ok(t, ref.Delete(ctx))
	var none any
	ok(t, c.NewRef("/").Get(ctx, &none))
	want(t, "root after delete", none, nil)
}

func TestUpdateAndPush(t *testing.T) {
	ctx, c := client(t)
	ref := c.NewRef("list")
	ok(t, ref.Set(ctx, map[string]any{"old": 1, "gone": true}))
	ok(t, ref.Update(ctx, map[string]any{"gone": nil, "deep/er": "x", "at": map[string]any{".sv": "timestamp"}}))
	child, err := ref.Push(ctx, map[string]any{"n": 1})
	ok(t, err)
	second, err := ref.Push(ctx, nil)
	ok(t, err)
	if len(child.Key) != 20 || second.Key <= child.Key {
		t.Errorf("push ids %q, %q", child.Key, second.Key)
	}
	var got map[string]any
	ok(t, ref.Get(ctx, &got))
	if at, _ := got["at"].(float64); at < 1.6e12 {
		t.Errorf("timestamp is %v", got["at"])
	}
	delete(got, "at")
	want(t, "list", got, map[string]any{
		"old": 1.0, "deep": map[string]any{"er": "x"},
		child.Key: map[string]any{"n": 1.0}, second.Key: "",
	})
}

func TestETags(t *testing.T) {
	ctx, c := client(t)
	ref := c.NewRef("etag")
	var v any
	tag, err := ref.GetWithETag(ctx, &v)
	ok(t, err)
	want(t, "tag of nothing", tag, "null_etag")
	set, err := ref.SetIfUnchanged(ctx, tag, map[string]any{"x": 1})
	ok(t, err)
	want(t, "created", set, true)
	set, err = ref.SetIfUnchanged(ctx, tag, map[string]any{"x": 2})
	ok(t, err)
	want(t, "created twice", set, false)
	changed, tag, err := ref.GetIfChanged(ctx, tag, &v)
	ok(t, err)
	want(t, "changed", changed, true)
	want(t, "value", v, map[string]any{"x": 1.0})
	changed, _, err = ref.GetIfChanged(ctx, tag, &v)
	ok(t, err)
	want(t, "changed again", changed, false)
}

func TestShallow(t *testing.T) {
	ctx, c := client(t)
	ok(t, c.NewRef("s").Set(ctx, map[string]any{"a": map[string]any{"deep": 1}, "b": 2}))
	var got map[string]any
	ok(t, c.NewRef("s").GetShallow(ctx, &got))
	want(t, "keys", got, map[string]any{"a": true, "b": true})
	var leaf float64
	ok(t, c.NewRef("s/b").GetShallow(ctx, &leaf))
	want(t, "leaf", leaf, 2.0)
}

func TestTransactionsOfManyClients(t *testing.T) {
	const clients, rounds = 8, 5
	ctx, c := client(t)
	var wg sync.WaitGroup
	errs := make(chan error, clients*rounds)
	for range clients {
		wg.Go(func() {
			for range rounds {
				errs <- retried(func() error {
					return c.NewRef("count").Transaction(ctx, func(n db.TransactionNode) (any, error) {
						var v float64
						err := n.Unmarshal(&v)
						return v + 1, err
					})
				})
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		ok(t, err)
	}
	var got float64
	ok(t, c.NewRef("count").Get(ctx, &got))
	want(t, "count", got, float64(clients*rounds))
}

// retried repeats a transaction that lost to others 25 times in a row, which is
// where the SDK gives up.
func retried(f func() error) error {
	for {
		if err := f(); err == nil || !strings.Contains(err.Error(), "aborted after failed retries") {
			return err
		}
	}
}

func TestTransactionAborts(t *testing.T) {
	ctx, c := client(t)
	ok(t, c.NewRef("x").Set(ctx, 1))
	no := errors.New("no")
	err := c.NewRef("x").Transaction(ctx, func(db.TransactionNode) (any, error) { return nil, no })
	want(t, "error", err, no)
	var got float64
	ok(t, c.NewRef("x").Get(ctx, &got))
	want(t, "value", got, 1.0)
}

func TestQueries(t *testing.T) {
	ctx, c := client(t)
	dinos := map[string]dino{"bruha": {25, "b"}, "lambe": {2.1, "l"}, "linhe": {0.6, "i"}, "ptero": {0.6, "p"}, "stego": {4, "s"}, "trice": {3, "t"}}
	ok(t, c.NewRef("dinos").Set(ctx, dinos))
	scores := map[string]any{"a": 55, "b": 21, "c": "text", "d": true, "e": 80}
	ok(t, c.NewRef("scores").Set(ctx, scores))
	d, s := c.NewRef("dinos"), c.NewRef("scores")
	for _, q := range []struct {
		name  string
		query *db.Query
		keys  []string
	}{
		{"child, first", d.OrderByChild("height").LimitToFirst(2), []string{"linhe", "ptero"}},
		{"child, last", d.OrderByChild("height").LimitToLast(2), []string{"stego", "bruha"}},
		{"child, range", d.OrderByChild("height").StartAt(2.1).EndAt(4), []string{"lambe", "trice", "stego"}},
		{"child, equal", d.OrderByChild("height").EqualTo(0.6), []string{"linhe", "ptero"}},
		{"child, none", d.OrderByChild("height").EqualTo(99), nil},
		{"child, all", d.OrderByChild("name"), []string{"bruha", "linhe", "lambe", "ptero", "stego", "trice"}},
		{"key, first", d.OrderByKey().LimitToFirst(2), []string{"bruha", "lambe"}},
		{"key, range", d.OrderByKey().StartAt("l").EndAt("p\uf8ff"), []string{"lambe", "linhe", "ptero"}},
		{"key, equal", d.OrderByKey().EqualTo("stego"), []string{"stego"}},
		{"value, all", s.OrderByValue(), []string{"d", "b", "a", "e", "c"}},
		{"value, last", s.OrderByValue().LimitToLast(2), []string{"e", "c"}},
		{"value, range", s.OrderByValue().StartAt(50).EndAt(60), []string{"a"}},
	} {
		nodes, err := q.query.GetOrdered(ctx)
		if err != nil {
			t.Errorf("%s: %v", q.name, err)
			continue
		}
		var keys []string
		for _, n := range nodes {
			keys = append(keys, n.Key())
		}
		want(t, q.name, keys, q.keys)
		var unordered map[string]any
		ok(t, q.query.Get(ctx, &unordered))
		want(t, q.name+": count", len(unordered), len(q.keys))
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	ctx, c := client(t)
	err := c.NewRef("x").Set(ctx, map[string]any{"a.b": 1})
	if err == nil || !strings.Contains(err.Error(), "http error status: 400; reason: Invalid data; couldn't parse key") {
		t.Errorf("error for a forbidden key: %v", err)
	}
}
