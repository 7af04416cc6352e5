package sync

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// definitions are those that a history deploys, each in one of its forms.
var definitions = map[string][]string{
	"inv":    {`{"map": "/a/$x/$y", "to": "/inv/$y/$x"}`},
	"list":   {`{"keep": 1, "at": "/c/$x", "by": ".value"}`, `{"keep": 3, "at": "/c/$x", "by": ".value"}`},
	"tag":    {`{"map": "/d/$x", "to": "/tag/{data.val()}"}`, `{"map": "/d/$x", "to": "/tags/{data.val()}", "onConflict": "replace"}`},
	"name":   {`{"map": "/b/$x", "to": "/name/{data.val()}", "value": "= $x", "unique": true}`},
	"number": {`{"count": "/b/$x", "to": "/number/of"}`, `{"count": "/b/$x/$y", "to": "/number/$x", "onConflict": "replace"}`},
	"total":  {`{"sum": "/d/$x", "to": "/total/of", "of": "= data.val()"}`},
	"quiet":  {`{"expire": "/a/$x", "after": "40s"}`, `{"expire": "/m1/$x/$y", "after": "20s"}`},
	"timed":  {`{"expire": "/timed/$x", "at": "= data.child('at').val()", "where": "data.child('at').isNumber()"}`},
	"seen":   {`{"map": "/timed/$x", "to": "/seen/$x"}`, `{"count": "/timed/$x", "to": "/seen"}`},
	"order":  {`{"index": "/timed", "by": ["at", "n"]}`, `{"index": "/timed", "by": ["at", "n"], "state": "off"}`, `{"index": "/timed", "by": ["n", "at"]}`},
}

func changeData(h *history) {
	if h.rnd.IntN(5) > 0 {
		return
	}
	var define []string
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		if forms := definitions[name]; h.rnd.IntN(5) > 0 {
			define = append(define, fmt.Sprintf("%q: %s", name, forms[h.rnd.IntN(len(forms))]))
		}
	}
	document, err := derive.Parse(`{"format": "dogwood-data/1", "define": {` + strings.Join(define, ",\n") + `}}`)
	if err != nil {
		h.Fatal(err)
	}
	_, err = h.db.ChangeData(h.Context(), versions.DataChange{Document: document, Author: "ana"})
	h.refused(err)
}

func controlData(h *history) {
	if h.rnd.IntN(3) > 0 {
		return
	}
	names := slices.Sorted(maps.Keys(definitions))
	verb := []string{declared.Pause, declared.Resume, declared.Rebuild}[h.rnd.IntN(3)]
	if err := h.db.ControlData(h.Context(), names[h.rnd.IntN(len(names))], verb); err != nil && !errors.Is(err, ErrNoDefinition) {
		h.Fatal(err)
	}
}

// keepSome ends a history with all kinds of rows of declared data.
func (h *history) keepSome() {
	h.Helper()
	var define []string
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		define = append(define, fmt.Sprintf("%q: %s", name, definitions[name][0]))
	}
	deploy(h.T, h.db, strings.Join(define, ",\n"))
	if err := h.db.ControlData(h.Context(), "inv", declared.Pause); err != nil {
		h.Fatal(err)
	}
	for i := range 40 {
		set(h.T, h.db, fmt.Sprintf("/timed/last%d", i), fmt.Sprintf(`{"at":%d}`, h.now.Load()+3_600_000+int64(i)))
		set(h.T, h.db, fmt.Sprintf("/d/last%d", i), fmt.Sprint(i%3))
		set(h.T, h.db, fmt.Sprintf("/a/last%d", i), "1")
	}
}

// writeTimed writes nodes that expire, and now and then removes a node above many of them.
func writeTimed(h *history) {
	node := func(int) string {
		return fmt.Sprintf(`{"at":%d,"n":%d}`, h.now.Load()+int64(h.rnd.IntN(90_000)), h.rnd.IntN(9))
	}
	switch h.rnd.IntN(10) {
	case 0:
		h.write(putOf(h.T, "/timed", "null"))
	case 1:
		h.write(putOf(h.T, "/timed", numbered(1+h.rnd.IntN(400), node)))
	default:
		h.write(putOf(h.T, fmt.Sprintf("/timed/k%04d", h.rnd.IntN(20)), node(0)))
	}
}

// numbered returns an object of n children.
func numbered(n int, child func(i int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%04d":%s`, i, child(i))
	}
	return "{" + b.String()[1:] + "}"
}

// local are the buckets whose bytes are those of one file, and why. The parts that clients can
// observe are compared otherwise.
var local = map[kv.Bucket]string{
	kv.Rows:    "ids of containers and blobs, and how rows are packed: the tree is compared",
	kv.Blobs:   "as rows",
	kv.Index:   "ids of indexes and containers: Check compares entries and rows, and which indexes there are is compared",
	kv.Counts:  "ids of containers: Check compares them and the rows",
	kv.Reclaim: "what waits to be freed",
	kv.Meta:    "ids that come next, the place in the log, builds of indexes, loads: the revision and the format are compared",
}

// entriesOf returns the entries of a closed file that have to be equal, by bucket and key.
func entriesOf(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := kv.OpenFile(file, kv.FileOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tx, err := f.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	all := make(map[string]string)
	for _, b := range kv.Buckets {
		c := tx.Cursor(b)
		for k, v := c.Seek(nil); k != nil; k, v = c.Next() {
			name := string(b) + string(k)
			switch {
			case name == "mformat" || local[b] == "" && name != "tindexes" && name != "t+probe":
				all[name] = string(v)
			case name == "tindexes":
				all[name] = indexSet(t, v)
			}
		}
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// indexSet returns which indexes a list has. Their numbers, and which are built, are those of the file.
func indexSet(t *testing.T, list []byte) string {
	t.Helper()
	var all []struct{ Pattern, Order string }
	if err := json.Unmarshal(list, &all); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, ix := range all {
		names = append(names, fmt.Sprint(ix))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// contentOf returns the revision of a closed file, and the tree with priorities.
func contentOf(t *testing.T, file string) (revision uint64, content string) {
	t.Helper()
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var b strings.Builder
	err = s.View(func(tx *store.Tx) error {
		revision = tx.Revision()
		return tx.WriteJSON(&b, tree.Root)
	})
	if err != nil {
		t.Fatal(err)
	}
	return revision, b.String()
}

// equalFiles compares two files, bucket by bucket.
func equalFiles(t *testing.T, copied, original string) {
	t.Helper()
	at, got := contentOf(t, copied)
	revision, want := contentOf(t, original)
	if at != revision || got != want {
		t.Errorf("revisions %d and %d, the trees have %d and %d bytes: %s", at, revision, len(got), len(want), firstDifference(got, want))
	}
	entries, all := entriesOf(t, copied), entriesOf(t, original)
	number := make(map[byte]int)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if number[k[0]]++; entries[k] != all[k] {
			t.Errorf("entry %q is %.300q, want %.300q", k, entries[k], all[k])
		}
	}
	for _, k := range slices.Sorted(maps.Keys(entries)) {
		if _, ok := all[k]; !ok {
			t.Errorf("entry %q is %.300q, want none", k, entries[k])
		}
	}
	t.Logf("equal entries by bucket: %v", number)
	if len(all) < 10 {
		t.Errorf("%d entries", len(all))
	}
}
