package sync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/pending"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// withStored has a closed file say that an earlier version has accepted a text, which put stores.
func withStored(t *testing.T, file, text string, put func(*store.Tx, versions.Version, string) error) {
	t.Helper()
	s, err := store.Open(file, store.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(func(tx *store.Tx) error {
		return put(tx, versions.Version{Number: 9, Hash: versions.Hash(text), Size: len(text)}, text)
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

const (
	keptDocument = `
		"sizes": {"count": "/groups/$g/members/$u", "to": "/sizes/$g"},
		"gone": {"expire": "/sessions/$s", "at": "= data.val()"},
		"byAge": {"index": "/people", "by": ["age", "name"]}`
	laterDocument = `{"format": "dogwood-data/1", "define": {
		"sizes": {"tally": "/groups/$g/members/$u", "to": "/sizes/$g"},
		"gone": {"expire": "/sessions/$s", "at": "= data.val()"},
		"byAge": {"index": "/people", "by": ["age", "name"]}}}`
)

// refusedFile returns a closed file with data, what a session left, and a document that is replaced by a text.
func refusedFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "db")
	db, err := Open(Options{File: file, Rules: rules.Open()})
	if err != nil {
		t.Fatal(err)
	}
	declare(t, db, keptDocument)
	set(t, db, "/groups/g/members", `{"ann":true,"bob":true}`)
	set(t, db, "/people", `{"a":{"age":2,"name":"a"},"b":{"age":1,"name":"b"}}`)
	set(t, db, "/sessions/s", fmt.Sprint(time.Now().Add(time.Hour).UnixMilli()))
	c := connect(t, db, "a", 0)
	c.send(`{"r":1,"a":"o","b":{"p":"/groups/g/members/carl","d":true}}`)
	c.send(`{"r":2,"a":"o","b":{"p":"/left","d":{".sv":{"increment":1}}}}`)
	c.settle()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	withStored(t, file, text, versions.PutData)
	return file
}

// TestRefusedDocument: a database opens whose data document this version refuses. Writes that the document cannot be about
// go on, others are refused, and what was accepted before waits. With a document that is accepted, everything
// is as if the writes had not been tried.
func TestRefusedDocument(t *testing.T) {
	for name, text := range map[string]string{"a kind": laterDocument} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testRefusedDocument(t, refusedFile(t, text), text) })
		})
	}
}

func testRefusedDocument(t *testing.T, file, text string) {
	var log bytes.Buffer
	db := openTest(t, Options{File: file, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if n := strings.Count(log.String(), `refused="data document"`); n != 1 {
		t.Errorf("the log says it %d times:\n%s", n, &log)
	}
	list, err := db.DataStatus()
	for _, s := range list {
		if s.State != declared.Refused || !strings.Contains(s.Error, "the kind is missing") {
			t.Errorf("status %+v", s)
		}
	}
	if len(list) != 3 || err != nil || db.Stats().Refused != 1 || db.Data().Source() != text {
		t.Errorf("%d definitions, %v, %d refused, %s", len(list), err, db.Stats().Refused, db.Data().Source())
	}
	want(t, db, "/left", "1") // by a session that is gone
	set(t, db, "/other/place", "1")
	order, err := tree.ListOrder([]string{"age", "name"})
	if err != nil {
		t.Fatal(err)
	}
	read := Read{Caller: Admin, Path: tree.MustParsePath("people"), Query: tree.Query{OrderBy: order, Limit: 1}}
	if e, err := db.Explain(t.Context(), read); err != nil || e.Index == nil {
		t.Errorf("the index is used: %+v, %v", e, err)
	}
	time.Sleep(3 * time.Hour)
	before := get(t, db, "/")
	for _, write := range []Write{
		putOf(t, "/groups/g/members/dora", "true"), putOf(t, "/groups", "null"), putOf(t, "/", "null"), putOf(t, "/sizes/g", "2"),
		putOf(t, "/sizes/h", "1"), putOf(t, "/sessions/s/deep", "1"), updateOf(t, "/", `{"other/place":2,"groups/h":null}`),
	} {
		for _, caller := range []Caller{Admin, {}} {
			write.Caller = caller
			var refused *fault.DocumentError
			if _, err := db.Write(t.Context(), write); !errors.As(err, &refused) || !errors.Is(err, fault.ErrUnavailable) || !strings.Contains(refused.Text, "dogwood data deploy or rollback") {
				t.Errorf("%s: %v", write.Update[0].Path, err)
			}
		}
	}
	if _, err := db.Import(t.Context(), tree.Root, strings.NewReader(`{"groups":{"h":{"members":{"eve":true}}}}`), nil); !errors.Is(err, fault.ErrDocument) {
		t.Errorf("an import: %v", err)
	}
	if err := db.ControlData(t.Context(), "sizes", declared.Rebuild); !errors.Is(err, fault.ErrDocument) {
		t.Errorf("a rebuild: %v", err)
	}
	if err := db.SetRules(t.Context(), parseRules(t, `{"rules":{".read":true,".write":true,"other":{".indexOn":"x"}}}`)); err != nil {
		t.Error(err)
	}
	want(t, db, "/", before)

	document, err := derive.Parse(`{"format": "dogwood-data/1", "define": {` + keptDocument + `, "new": {"count": "/people/$p", "to": "/n"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := db.PreviewData(t.Context(), document); len(found) != 1 || found[0].Name != "new" || err != nil {
		t.Errorf("a preview finds %+v, %v", found, err)
	}

	declare(t, db, keptDocument) // of the definitions that were there, the states are as they were
	set(t, db, "/groups/g/members/dora", "true")
	time.Sleep(2 * time.Second)
	want(t, db, "/groups/g/members", `{"ann":true,"bob":true,"carl":true,"dora":true}`)
	want(t, db, "/sizes", `{"g":4}`)
	want(t, db, "/sessions", "null")
	if !built(t, db) || db.Stats().Refused != 0 {
		t.Errorf("built %t, %d refused", built(t, db), db.Stats().Refused)
	}
	err = db.store.View(func(tx *store.Tx) error {
		return declared.Check(t.Context(), tx, time.Now(), func(definition, text string) { t.Errorf("%s: %s", definition, text) })
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRefusedText: of a text whose paths are not known, everything is refused that writes.
func TestRefusedText(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":       `{"format": "dogwood-data/1", "define": {"sizes": `,
		"a format":      strings.Replace(laterDocument, "data/1", "data/0", 1),
		"a member":      strings.Replace(laterDocument, `{"format"`, `{"feed": {"keep": "7d"}, "format"`, 1),
		"no path":       `{"format": "dogwood-data/1", "define": {"sizes": {"count": ["groups"]}}}`,
		"an expression": `{"format": "dogwood-data/1", "define": {"sizes": {"tally": "/groups/$g", "to": "/{data.val()}/x"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(Options{File: refusedFile(t, text), Rules: rules.Open()})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Write(t.Context(), putOf(t, "/other/place", "1")); !errors.Is(err, fault.ErrDocument) {
				t.Error(err)
			}
			want(t, db, "/sizes", `{"g":2}`)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestRefusedRules: a database opens whose rules this version refuses. Clients may do nothing, and administrators everything.
// Operations that a session left wait for other rules, and indexes stay.
func TestRefusedRules(t *testing.T) {
	file := withOrphan(t)
	db, err := Open(Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	good := `{"rules":{".read":true,".write":true,"list":{".indexOn":"n"}}}`
	if err := db.SetRules(t.Context(), parseRules(t, good)); err != nil {
		t.Fatal(err)
	}
	leave(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	bad := strings.Replace(good, "true", `"later()"`, 1)
	withStored(t, file, bad, versions.Put)
	for range 2 {
		if db, err = Open(Options{File: file}); err != nil {
			t.Fatal(err)
		}
		if db.Rules().Refused() == nil || db.Rules().Source() != bad || db.Stats().Refused != 1 {
			t.Errorf("rules %s, refused: %v", db.Rules().Source(), db.Rules().Refused())
		}
		for _, read := range []Read{{}, {Path: tree.MustParsePath("list/a")}} {
			if _, err := db.Get(t.Context(), read); !errors.Is(err, fault.ErrDenied) {
				t.Errorf("a client reads: %v", err)
			}
		}
		w := putOf(t, "/list/c", `{"n":3}`)
		if w.Caller = (Caller{}); !deniedTo(t, db, w) {
			t.Error("a client writes")
		}
		want(t, db, "/online", "true") // the last session has left something else
		err = db.store.View(func(tx *store.Tx) error {
			all, err := tx.Indexes().All()
			if !slices.Equal(all, []store.Index{{Pattern: "/list", Order: "n"}}) {
				t.Errorf("the indexes are %v", all)
			}
			return err
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	db = openTest(t, Options{File: file})
	if _, err := db.ChangeRules(t.Context(), versions.Change{Rules: parseRules(t, good), IfHash: versions.Hash(bad)}); err != nil {
		t.Fatal(err)
	}
	set(t, db, "/after", "1") // behind what was left
	want(t, db, "/online", "false")
	want(t, db, "/left", "1")
	if db.Stats().Refused != 0 {
		t.Error("they are still refused")
	}
}

func deniedTo(t *testing.T, db *Database, w Write) bool {
	_, err := db.Write(t.Context(), w)
	return errors.Is(err, fault.ErrDenied)
}

// TestRefusedRulesOrder: what a session left is carried out before a write that is queued behind the rules
// which replace refused ones, also if their administrator has gone meanwhile.
func TestRefusedRulesOrder(t *testing.T) {
	for name, gone := range map[string]bool{"answered": false, "gone": true} {
		t.Run(name, func(t *testing.T) {
			file := withOrphan(t)
			withStored(t, file, `{"rules":{".write":"later()"}}`, versions.Put)
			db := openTest(t, Options{File: file})
			want(t, db, "/left", "null")
			g := closeGate(t, db)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			changed, written := make(chan error, 1), make(chan error, 1)
			open := &rulesTask{change: versions.Change{Rules: parseRules(t, `{"rules":{".read":true,".write":true}}`)}}
			go func() { changed <- db.do(ctx, open) }() // as ChangeRules does when it has asked about credentials
			queued(db, 1)
			if gone {
				cancel()
				if err := <-changed; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			w := putOf(t, "/online", `"again"`)
			w.Caller = Caller{}
			go func() {
				_, err := db.Write(t.Context(), w)
				written <- err
			}()
			queued(db, 2)
			close(g.open)
			if err := <-written; err != nil {
				t.Error(err)
			}
			if !gone {
				if err := <-changed; err != nil {
					t.Error(err)
				}
			}
			want(t, db, "/left", "1")
			want(t, db, "/online", `"again"`)
			if n := records(t, db); n != 0 {
				t.Errorf("%d records are left", n)
			}
		})
	}
}

// TestRefusedIsNotRepeated: while a document is refused, operations that wait for another one are not tried.
func TestRefusedIsNotRepeated(t *testing.T) {
	file := refusedFile(t, laterDocument)
	synctest.Test(t, func(t *testing.T) {
		db := openTest(t, Options{File: file})
		synctest.Wait()
		before := db.Stats().Batches
		time.Sleep(100 * probeEvery)
		synctest.Wait()
		if n := db.Stats().Batches - before; n != 0 {
			t.Errorf("%d batches without a write", n)
		}
		declare(t, db, keptDocument)
		set(t, db, "/after", "1")
		want(t, db, "/groups/g/members/carl", "true")
	})
}

// TestOpenTellsTheWorst: an operation that waits does not hide that another one of its session has failed.
func TestOpenTellsTheWorst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	db, err := Open(Options{File: file, Rules: rules.Open()})
	if err != nil {
		t.Fatal(err)
	}
	declare(t, db, keptDocument)
	c := connect(t, db, "a", 0)
	c.send(`{"r":1,"a":"o","b":{"p":"/groups/g/members/carl","d":true}}`)
	c.send(fmt.Sprintf(`{"r":2,"a":"o","b":{"p":"/left","d":%s}}`, manyValues(pending.MaxBytes/pending.ValueCost/2))) // in a batch of its own
	c.settle()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	withStored(t, file, laterDocument, versions.PutData)
	log := new(flakyLog)
	log.every.Store(math.MaxInt64)
	if db, err := Open(Options{File: file, Change: log, Rules: rules.Open()}); !errors.Is(err, errFlaky) {
		t.Errorf("Open() = %v, want %v", err, errFlaky)
		if err == nil {
			_ = db.Close()
		}
	}
	full := fault.Unavailable(syscall.ENOSPC)
	for _, c := range [][3]error{
		{nil, errBehind, errBehind}, {errBehind, errRules, errRules}, {&fault.DocumentError{}, full, full}, {full, errRules, full},
		{full, errFlaky, errFlaky}, {errFlaky, full, errFlaky}, {nil, nil, nil},
	} {
		if got := worse(c[0], c[1]); got != c[2] {
			t.Errorf("worse(%v, %v) = %v", c[0], c[1], got)
		}
	}
}
