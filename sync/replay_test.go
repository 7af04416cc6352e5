package sync

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/replay"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// A history makes random operations of every kind on a database with a log.
type history struct {
	*testing.T
	rnd     *rand.Rand
	dir     string
	log     *logged.Log
	db      *Database
	clients []*client
	writers [3][16]byte
	number  [3]uint64
	made    map[string]int // operations by kind
	opened  int
	now     atomic.Int64 // in milliseconds since 1970
}

// The time of a history goes on with its operations alone.
func (h *history) clock() time.Time { return time.UnixMilli(h.now.Load()) }

func (h *history) open() {
	h.Helper()
	var err error
	if h.log, err = logged.OpenLog(store.LogDir(h.dir), logged.LogOptions{KeepBytes: 1 << 40}); err != nil {
		h.Fatal(err)
	}
	freeze := []int64{1 << 10, 64 << 10, 8 << 20}[h.opened%3]
	h.opened++
	h.db, err = Open(Options{
		File: filepath.Join(h.dir, "db"), Store: store.Options{Log: h.log, FreezeBytes: freeze, NoSync: true}, ScrubEvery: -1, Now: h.clock,
		Rules:  parseRules(h.T, `{"rules":{".read":true,".write":"newData.child('no').val() != 1"}}`),
		Sample: func() tree.Node { n, _ := tree.ParseNode(`{"sample":{"a":1}}`); return n },
	})
	if err != nil {
		h.Fatal(err)
	}
}

func (h *history) close() {
	h.Helper()
	checkTest(h.T, h.db)
	if err := errors.Join(h.db.Close(), h.log.Close()); err != nil {
		h.Fatal(err)
	}
	h.clients = nil
}

// path returns a path of one to three keys.
func (h *history) path() string {
	var b strings.Builder
	for range 1 + h.rnd.IntN(3) {
		fmt.Fprintf(&b, "/%s", []string{"a", "b", "c", "7", "é\\\"x", "d"}[h.rnd.IntN(6)])
	}
	return strings.ReplaceAll(b.String(), `\`, "")
}

func (h *history) value() string {
	switch h.rnd.IntN(20) {
	case 0, 1, 2:
		return "null"
	case 3:
		return fmt.Sprintf(`{".value":%d,".priority":%d}`, h.rnd.IntN(9), h.rnd.IntN(9))
	case 4:
		return `{".sv":"timestamp"}`
	case 5, 6:
		return `{".sv":{"increment":1.5}}`
	case 7:
		return fmt.Sprintf("%q", strings.Repeat("long ", h.rnd.IntN(2000)))
	case 8:
		return fmt.Sprintf("%q", strings.Repeat(`q"é`, h.rnd.IntN(60_000)))
	case 9:
		return importText(h.rnd.IntN(100), 1+h.rnd.IntN(60))
	case 10:
		return `{"no":1}`
	case 11:
		return fmt.Sprintf(`{"x":{"y":%d,".priority":"p"},"z":[1,null,true]}`, h.rnd.IntN(9))
	}
	return fmt.Sprint(h.rnd.IntN(1000))
}

// update returns the body of an update.
func (h *history) update() string {
	all := make(map[string]string)
	for i := range 1 + h.rnd.IntN(3) {
		all[fmt.Sprintf("u%d/%d", i, h.rnd.IntN(4))] = h.value()
	}
	var members []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		members = append(members, fmt.Sprintf("%q:%s", k, all[k]))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (h *history) caller() Caller {
	if h.rnd.IntN(2) == 0 {
		return Admin
	}
	uid := fmt.Sprint("user", h.rnd.IntN(3))
	return Caller{Auth: rules.Auth{UID: uid, JSON: fmt.Sprintf(`{"uid":%q}`, uid)}}
}

// refused fails on errors that a random operation may not have.
func (h *history) refused(err error) {
	h.Helper()
	var stale *fault.StaleError
	if err != nil && !errors.Is(err, fault.ErrDenied) && !errors.As(err, &stale) && !errors.Is(err, tree.ErrIncrement) {
		h.Fatal(err)
	}
}

func (h *history) write(w Write) {
	h.Helper()
	w.Caller = h.caller()
	if h.rnd.IntN(3) == 0 {
		i := h.rnd.IntN(len(h.writers))
		if h.number[i] == 0 || h.rnd.IntN(4) > 0 { // or it is sent again
			h.number[i]++
		}
		w.ID = &store.WriteID{Writer: h.writers[i], Number: h.number[i]}
	}
	_, err := h.db.Write(h.Context(), w)
	h.refused(err)
}

func (h *history) client() *client {
	if len(h.clients) < 3 {
		h.clients = append(h.clients, connect(h.T, h.db, fmt.Sprint("c", h.rnd.Uint64()), 0))
	}
	return h.clients[h.rnd.IntN(len(h.clients))]
}

// kinds are the operations, by name.
var kinds = map[string]func(h *history){
	"set":    func(h *history) { h.write(putOf(h.T, h.path(), h.value())) },
	"update": func(h *history) { h.write(updateOf(h.T, "/"+fmt.Sprint("m", h.rnd.IntN(3)), h.update())) },
	"priority": func(h *history) {
		h.write(putOf(h.T, h.path()+"/.priority", fmt.Sprint(h.rnd.IntN(5))))
	},
	"transaction": func(h *history) {
		at := h.path()
		w := putOf(h.T, at, h.value())
		n, _ := tree.ParseNode(get(h.T, h.db, at))
		hash := n.Hash()
		w.If = &hash
		h.write(w)
	},
	"large": func(h *history) {
		if h.rnd.IntN(10) == 0 {
			h.write(putOf(h.T, h.path(), manyValues(3000+h.rnd.IntN(9000))))
		}
	},
	"leave": func(h *history) {
		c := h.client()
		c.send(fmt.Sprintf(`{"r":1,"a":"o","b":{"p":%q,"d":%s}}`, h.path(), h.value()))
		c.send(fmt.Sprintf(`{"r":2,"a":"om","b":{"p":"/left","d":%s}}`, h.update()))
		c.settle()
		c.frames()
	},
	"cancel": func(h *history) {
		c := h.client()
		c.send(fmt.Sprintf(`{"r":1,"a":"oc","b":{"p":%q}}`, h.path()))
		c.settle()
		c.frames()
	},
	"end": func(h *history) {
		c := h.client()
		h.clients = slices.DeleteFunc(h.clients, func(other *client) bool { return other == c })
		c.session.Close()
	},
	"rules": func(h *history) {
		if h.rnd.IntN(5) > 0 {
			return
		}
		text := fmt.Sprintf(`{"rules":{".read":true,".write":"newData.child('no').val() != 1","a":{".indexOn":"v%d"}}}`, h.rnd.IntN(3))
		_, err := h.db.ChangeRules(h.Context(), versions.Change{Rules: parseRules(h.T, text), Author: "ana", Comment: "\"why\""})
		h.refused(err)
	},
	"data":    changeData,
	"control": controlData,
	"timed":   writeTimed,
	"clock":   func(h *history) { h.now.Add(int64(h.rnd.IntN(60_000))) },
	"setting": func(h *history) {
		h.refused(h.db.SetSetting(h.Context(), fmt.Sprint("s", h.rnd.IntN(4)), fmt.Sprint("é", h.rnd.IntN(9))))
	},
	"import": func(h *history) {
		if h.rnd.IntN(4) > 0 {
			return
		}
		var src io.Reader = strings.NewReader("{\n\t\"é\": " + importText(1, 1+h.rnd.IntN(3000)) + "}")
		fails := h.rnd.IntN(4) == 0
		if fails {
			src = io.MultiReader(src, failingReader{})
		}
		_, err := h.db.Import(h.Context(), tree.MustParsePath("imported"+h.path()), src, nil)
		if (err != nil) != fails {
			h.Fatal("import:", err)
		}
	},
	"put": func(h *history) {
		if h.rnd.IntN(4) > 0 {
			return
		}
		text := `{"n":{".sv":{"increment":2}},"t":{".sv":"timestamp"},"same":{".sv":{"increment":3}},"same":5,"rest":` + importText(2, 1+h.rnd.IntN(2000)) + `}`
		_, err := h.db.Put(h.Context(), tree.MustParsePath("put/"+fmt.Sprint(h.rnd.IntN(3))), strings.NewReader(text), nil)
		h.refused(err)
	},
	"restart": func(h *history) {
		if h.rnd.IntN(20) == 0 {
			h.close()
			h.open()
		}
	},
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("the client left") }

// TestReplay: the log of a database makes an equal one of an empty store, whatever was done
// to it.
func TestReplay(t *testing.T) {
	tier.Unraced(t)
	for seed := range tier.Pick[uint64](1, 1, 4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			testReplay(t, seed, tier.Pick(150, 150, 10_000))
		})
	}
}

func testReplay(t *testing.T, seed uint64, operations int) {
	h := &history{T: t, rnd: rand.New(rand.NewPCG(seed, 16)), dir: t.TempDir(), made: make(map[string]int)}
	h.now.Store(1_764_000_000_000)
	for i := range h.writers {
		h.writers[i] = [16]byte{byte(i + 1)}
	}
	h.open()
	names := slices.Sorted(maps.Keys(kinds))
	for range operations {
		name := names[h.rnd.IntN(len(names))]
		h.now.Add(int64(h.rnd.IntN(1_000)))
		kinds[name](h)
		h.made[name]++
	}
	h.write(putOf(t, "/last", manyValues(9000)))
	imports(t, h.db, "/imported/last", importText(1, 3000))
	h.keepSome()

	copied, to := h.copied()
	h.close()
	file := filepath.Join(h.dir, "db")
	h.replay(file, to)
	findings, err := to.Check()
	if err := errors.Join(append(findings, err, to.Close())...); err != nil {
		t.Fatal(err)
	}
	equalFiles(t, copied, file)
	t.Log(h.made)
}

// replay carries out all of the log of a file that is closed on a store.
func (h *history) replay(file string, to *store.Store) {
	h.Helper()
	from, err := store.Open(file, store.Options{ReadOnly: true, ReadLog: true})
	if err != nil {
		h.Fatal(err)
	}
	defer from.Close()
	tail, err := from.Tail(1)
	if err != nil {
		h.Fatal(err)
	}
	defer tail.Close()
	r := replay.New(to)
	largest := 0
	for {
		e, ok, err := tail.Ready()
		if err != nil {
			h.Fatal(err)
		}
		if !ok {
			break
		}
		if largest = max(largest, len(e.Text)); e.Database != from.Database() {
			h.Errorf("an entry of database %x", e.Database)
		}
		if err := r.Add(e); err != nil {
			h.Fatal(err)
		}
	}
	if largest > entry.MaxBytes {
		h.Errorf("an entry has %d bytes", largest)
	}
	if err := r.Close(); err != nil {
		h.Fatal(err)
	}
}

func firstDifference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(i-60, 0)
	return fmt.Sprintf("%q and %q", a[from:min(i+60, len(a))], b[from:min(i+60, len(b))])
}

// TestReplayMidway: where the beginning of a log is gone, the first entries may be the last pieces of
// an import, or the last parts of a write. The commit that needs all of them is refused, and they are
// not taken for damage.
func TestReplayMidway(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	for name, long := range map[string]func(t *testing.T, db *Database){
		"import": func(t *testing.T, db *Database) { imports(t, db, "/imported", importText(1, 3000)) },
		"write":  func(t *testing.T, db *Database) { set(t, db, "/large", manyValues(9000)) },
	} {
		t.Run(name, func(t *testing.T) {
			h := &history{T: t, dir: t.TempDir()}
			h.open()
			defer h.close()
			set(t, h.db, "/n", "0")
			long(t, h.db)
			testMidway(t, h.db)
		})
	}
}

func testMidway(t *testing.T, db *Database) {
	t.Helper()
	to, err := store.Open(filepath.Join(t.TempDir(), "copy"), store.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	tail, err := db.store.Tail(1)
	if err != nil {
		t.Fatal(err)
	}
	defer tail.Close()
	r := replay.New(to)
	passed := -1
	for err == nil {
		e, ok, failed := tail.Ready()
		if !ok || failed != nil {
			t.Fatal("nothing was refused:", failed)
		}
		switch seq, piece := seqOf(t, e); {
		case passed >= 0:
			passed++
		case piece && seq == 0:
			continue // it is gone
		case piece:
			passed, err = 0, r.Close()
			r = replay.New(to)
		}
		err = errors.Join(err, r.Add(e))
	}
	if !errors.Is(err, entry.ErrBefore) || passed < 1 {
		t.Errorf("%d entries behind the first piece: %v", passed, err)
	}
	if err := errors.Join(r.Close(), to.Close()); err != nil {
		t.Error(err)
	}
}

// seqOf returns the number of the piece or part that an entry begins with, if it does.
func seqOf(t *testing.T, e entry.Entry) (seq int, piece bool) {
	t.Helper()
	for op, err := range e.Operations() {
		if err != nil {
			t.Fatal(err)
		}
		switch op := op.(type) {
		case *entry.Load:
			return op.Seq, true
		case *entry.Part:
			return op.Seq, true
		}
		break
	}
	return 0, false
}
