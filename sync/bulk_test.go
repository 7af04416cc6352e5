package sync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// importText is an object of n children that all say which import they are of.
func importText(version, n int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(`"k%03d":{"v":%d,"pad":"%0100d","n":%d}`, i, version, i, (i*7+version)%n)
	}
	return "{" + strings.Join(rows, ",") + "}"
}

func imports(t testing.TB, db *Database, path, text string) {
	t.Helper()
	if _, err := db.Import(t.Context(), tree.MustParsePath(path), strings.NewReader(text), nil); err != nil {
		t.Fatalf("import %s: %v", path, err)
	}
}

func TestImport(t *testing.T) {
	large := importText(1, 50)
	for _, c := range []struct{ before, path, text, after string }{
		{`null`, "/", `{"b":[1,null,{".value":3,".priority":"p"}],"a":2}`, `{"a":2,"b":{"0":1,"2":{".priority":"p",".value":3}}}`},
		{`{"a":1}`, "/", `null`, `null`},
		{`{"a":1}`, "/", ` {} `, `null`},
		{`{"a":1}`, "/a/b/c", `5`, `{"a":{"b":{"c":5}}}`},
		{`{"a":{".priority":7,".value":1}}`, "/a/b/c", large, `{"a":{".priority":7,"b":{"c":` + large + `}}}`},
		{`{"a":{"b":"x","z":1},"q":` + large + `}`, "/a/b", large, `{"a":{"b":` + large + `,"z":1},"q":` + large + `}`},
		{`{"a":` + large + `}`, "/a", large, `{"a":` + large + `}`},
		{`{"a":` + large + `,"b":1}`, "/a", `null`, `{"b":1}`},
	} {
		db := openTest(t, Options{})
		set(t, db, "/", c.before)
		imports(t, db, c.path, c.text)
		want(t, db, "/", tree.MustParseNode(c.after).JSON())
	}
}

// TestImportAndListeners: while imports replace a list, and others write beside
// and inside it, listeners of all kinds see an import as a whole or not at all,
// and in the end what the database has.
func TestImportAndListeners(t *testing.T) {
	ruleset, err := rules.Parse(`{"rules":{".read":true,".write":true,"x":{"list":{".indexOn":"n"}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"memory": "", "disk": filepath.Join(t.TempDir(), "db")} {
		t.Run(name, func(t *testing.T) { importBesideListeners(t, openTest(t, Options{File: file, Rules: ruleset})) })
	}
}

func importBesideListeners(t *testing.T, db *Database) {
	const versions, children = 12, 60
	imports(t, db, "/x/list", importText(0, children))
	var following, writing sync.WaitGroup
	finished := make(chan struct{})
	var mirrors []*mirror
	for i, request := range []string{
		`{"r":1,"a":"q","b":{"p":"/","h":""}}`,
		`{"r":1,"a":"q","b":{"p":"/x","h":""}}`,
		`{"r":1,"a":"q","b":{"p":"/x/list","h":""}}`,
		`{"r":1,"a":"q","b":{"p":"/x/list/k007","h":""}}`,
		`{"r":1,"a":"q","b":{"p":"/x/list/k007/v","h":""}}`,
		`{"r":1,"a":"q","b":{"p":"/x/list/gone","h":""}}`,
		`{"r":1,"a":"q","b":{"p":"/x/list","q":{"i":"n","l":9,"vf":"r"},"t":1,"h":""}}`,
		`{"r":1,"a":"q","b":{"p":"/x/list","q":{"i":"v","sp":3,"l":5,"vf":"l"},"t":2,"h":""}}`,
		`{"r":1,"a":"q","b":{"p":"/x","q":{"i":".key","l":1,"vf":"l"},"t":3,"h":""}}`,
		`{"r":1,"a":"q","b":{"p":"/other","h":""}}`,
	} {
		m := newMirror(connect(t, db, fmt.Sprint("l", i), 100_000*(i%2)))
		m.pushed = func(key listenKey, _, after tree.Node) { wantOneVersion(t, key, after) }
		mirrors = append(mirrors, m)
		following.Go(func() {
			m.follow(request)
			for {
				m.read()
				select {
				case <-m.woken:
				case <-finished:
					return
				}
			}
		})
	}
	writing.Go(func() {
		for v := range versions {
			if v%4 == 3 {
				imports(t, db, "/x", `{"list":`+importText(v, children)+`,"new":true}`)
			} else {
				imports(t, db, "/x/list", importText(v, children))
			}
		}
	})
	for w := range 2 {
		writing.Go(func() {
			for i := range 200 {
				path := []string{"/other/n", "/x/beside", "/x/list/gone"}[(i+w)%3]
				if _, err := db.Write(context.Background(), putOf(t, path, fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	close(finished)
	following.Wait()
	for i, m := range mirrors {
		m.read()
		compareViews(t, db, m, fmt.Sprintf("listener %d", i))
		m.session.Close()
	}
}

// wantOneVersion looks at the list in a view of it or above it.
func wantOneVersion(t *testing.T, key listenKey, view tree.Node) {
	list := tree.MustParsePath("x/list")
	if !key.path.Contains(list) || key.tag == 3 {
		return
	}
	first := tree.Empty
	for name, child := range view.Get(key.path.Rel(list)).Children() {
		v := child.Child("v")
		if first.IsEmpty() && name != "gone" {
			first = v
		}
		if name != "gone" && v != first {
			t.Errorf("the view of %s has children of imports %s and %s", key.path, first.JSON(), v.JSON())
			return
		}
	}
}

// TestImportIsInTheLog: in pieces, with a link.
func TestImportIsInTheLog(t *testing.T) {
	tier.Unraced(t)
	log := new(recordLog)
	db := openTest(t, Options{Change: log})
	const many = 20_000
	imports(t, db, "/x", importText(1, many))
	all := strings.Join(log.operations(t), "")
	if loads, links := strings.Count(all, `{"load":`), strings.Count(all, `{"link":`); loads < 2 || links != 1 {
		t.Errorf("the log has %d pieces and %d links", loads, links)
	}
	if !strings.HasSuffix(all, `"admin":true,"door":"rest","cause":"import"}`+"\n") {
		t.Errorf("the log ends with %q", all[max(len(all)-200, 0):])
	}
}

// TestLinkOfGoneClient: a client that leaves while the end of its import waits for the committer does
// not change the outcome, nor what the log says of it.
func TestLinkOfGoneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 1 << 20
		log := new(recordLog)
		db := openTest(t, Options{Change: log, MaxQueue: most})
		var o store.LoadOptions
		p := tree.MustParsePath("x")
		text := db.logText(t.Context(), p, strings.NewReader(importText(1, 1000)), &o, 0)
		id := text.Pieces.ID
		load, err := db.store.NewLoad(p, o)
		if err == nil {
			err = errors.Join(load.Read(t.Context(), text), text.Finish())
		}
		if err != nil {
			t.Fatal(err)
		}
		g := closeGate(t, db)
		ctx, leave := context.WithCancel(t.Context())
		linked := make(chan error, 1)
		go func() {
			linked <- (&linkTask{cause: causeImport, load: load, text: &text.Pieces}).link(ctx, db)
		}()
		synctest.Wait()
		_, bytes, _ := db.queue.Waiting()
		fills := &call{bytes: int(most - bytes - taskOverhead), f: func(*batch) error { return nil }}
		fills.start()
		if err := db.add(t.Context(), fills); err != nil {
			t.Fatal(err)
		}
		leave()
		synctest.Wait() // what takes an import back would wait for room in the queue
		close(g.open)
		if err := <-linked; err != nil {
			t.Errorf("the end of the import: %v", err)
		}
		want(t, db, "/x/k007/v", "1")
		all := strings.Join(log.operations(t), "")
		if !strings.Contains(all, fmt.Sprintf(`{"link":%q`, id)) || strings.Contains(all, `{"drop":`) {
			t.Errorf("the log ends with %q, want the link of %s", all[max(len(all)-200, 0):], id)
		}
	})
}

// TestImportThatFails leaves everything as it was, and nothing behind.
func TestImportThatFails(t *testing.T) {
	log := &faultyLog{}
	db := openTest(t, Options{Change: log})
	set(t, db, "/x", `{"old":1}`)
	c := newMirror(connect(t, db, "a", 0))
	c.follow(`{"r":1,"a":"q","b":{"p":"/x","q":{"i":".key","l":2,"vf":"l"},"t":1,"h":""}}`)
	c.read()
	large := importText(1, 100)
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	log.set(true)
	for _, f := range []struct {
		ctx  context.Context
		src  io.Reader
		want error
	}{
		{t.Context(), io.MultiReader(strings.NewReader(large[:len(large)-10]), brokenReader{broken}), broken},
		{ctx, strings.NewReader(large), context.Canceled},
		{t.Context(), strings.NewReader(large), fault.ErrUnavailable},
		{t.Context(), strings.NewReader(`1`), fault.ErrUnavailable},
	} {
		if _, err := db.Import(f.ctx, tree.MustParsePath("x"), f.src, nil); !errors.Is(err, f.want) {
			t.Errorf("Import = %v, want %v", err, f.want)
		}
	}
	e := (*tree.ParseError)(nil)
	if _, err := db.Import(t.Context(), tree.Root, strings.NewReader(large[:3000]), nil); !errors.As(err, &e) {
		t.Errorf("Import of half a text = %v", err)
	}
	log.set(false)
	want(t, db, "/", `{"x":{"old":1}}`)
	set(t, db, "/x/new", "2") // the listener goes on as if nothing had been
	c.read()
	compareViews(t, db, c, "after failures")
	c.session.Close()
	drained(t, db)
	checkTest(t, db)
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

// drained waits until the committer has no background work left: indexes are built
// and garbage is reclaimed.
func drained(t *testing.T, db *Database) {
	t.Helper()
	for range 60_000 {
		g := closeGate(t, db)
		idle := !db.work
		close(g.open)
		if idle {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("there is always background work left")
}

func TestImportIntoAClosedDatabase(t *testing.T) {
	for name, file := range map[string]string{"memory": "", "disk": filepath.Join(t.TempDir(), "db")} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(Options{File: file})
			if err != nil {
				t.Fatal(err)
			}
			closing := &closingReader{strings.NewReader(importText(1, 100)), db, t}
			if _, err := db.Import(t.Context(), tree.Root, closing, nil); !errors.Is(err, fault.ErrClosed) {
				t.Errorf("Import while the database is closed = %v", err)
			}
			if _, err := db.Import(t.Context(), tree.Root, strings.NewReader("1"), nil); !errors.Is(err, fault.ErrClosed) {
				t.Errorf("Import = %v", err)
			}
			if _, err := db.Backup(io.Discard); !errors.Is(err, fault.ErrClosed) {
				t.Errorf("Backup = %v", err)
			}
		})
	}
}

// A closingReader closes the database before it is read.
type closingReader struct {
	io.Reader
	db *Database
	t  *testing.T
}

func (r *closingReader) Read(p []byte) (int, error) {
	if !r.db.closed.Load() {
		if err := r.db.Close(); err != nil {
			r.t.Error(err)
		}
	}
	return r.Reader.Read(p)
}

// TestExport asks the rules, and is what an import takes back.
func TestExport(t *testing.T) {
	db := openTest(t, Options{Rules: rules.Locked()})
	text := `{"a":{".priority":1,"b":{".priority":"x",".value":[true]}},"c":` + importText(1, 50) + `}`
	imports(t, db, "/from", text)
	var out bytes.Buffer
	err := db.Export(t.Context(), Read{Path: tree.Root}, &out)
	if !errors.Is(err, fault.ErrDenied) || out.Len() > 0 {
		t.Errorf("Export by nobody = %v, %d bytes", err, out.Len())
	}
	if err := db.Export(t.Context(), Read{Caller: Admin, Path: tree.MustParsePath("from")}, &out); err != nil {
		t.Fatal(err)
	}
	imports(t, db, "/to", out.String())
	want(t, db, "/to", get(t, db, "/from"))
}

// BenchmarkWritesDuringImport measures what others wait while rows are loaded.
func BenchmarkWritesDuringImport(b *testing.B) {
	db := openTest(b, Options{File: filepath.Join(b.TempDir(), "db")})
	ctx, stop := context.WithCancel(context.Background())
	var importing sync.WaitGroup
	importing.Go(func() {
		text := importText(1, 200_000)
		for ctx.Err() == nil {
			_, err := db.Import(ctx, tree.MustParsePath("x"), strings.NewReader(text), nil)
			if err != nil && ctx.Err() == nil {
				b.Error(err)
			}
		}
	})
	slowest := time.Duration(0)
	for b.Loop() {
		began := time.Now()
		set(b, db, "/n", "1")
		slowest = max(slowest, time.Since(began))
	}
	b.ReportMetric(float64(slowest.Microseconds())/1000, "slowest-ms")
	stop()
	importing.Wait()
}
