package entry

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

func resolved(t testing.TB, target, value string) tree.ResolvedWrite {
	t.Helper()
	at, err := tree.ParseTarget(target)
	if err != nil {
		t.Fatal(err)
	}
	n, err := tree.ParseNode(value)
	if err != nil {
		t.Fatal(err)
	}
	return tree.ResolvedWrite{Target: at, Node: n}
}

var header = Header{Database: 0x5f00000000000001, Run: 0xa1, Revision: 812, At: 1764002345678}

func samples(t testing.TB) []Operation {
	rooms := tree.MustParsePath("rooms")
	id := ID{Writer: [16]byte{0x0b, 15: 1}, Number: 7}
	return []Operation{
		&Write{Writes: []tree.ResolvedWrite{resolved(t, "/rooms/r1/name", `"Lob\nby"`), resolved(t, "/rooms/r1/.priority", "4"), resolved(t, "/", "null")}},
		&Write{Writes: []tree.ResolvedWrite{resolved(t, "/.priority", "1")}, By: By{"ana", true, "socket", "update"}, ID: &id, Merge: &rooms},
		&Seen{id},
		&Left{Session: "s1", Put: []Record{{3, []byte(`{"target":"/x","value":"1"}`)}, {4, []byte("{}")}}, Delete: []uint64{1, 2}},
		&Left{Session: "s1", Delete: []uint64{1}},
		&Rules{Version: []byte(`{"version":4}`), Source: "{\n\"rules\":{}}"},
		&Setting{"strict \"name\"", "é"},
		&Data{Version: []byte(`{"version":1}`), Source: "{}"},
		&States{[]byte(`{"nextId":3,"states":[{"name":"a"}]}`)},
		&Kept{Kind: KeptDue, Definition: 3, Path: rooms, N: 1764002345678, At: tree.MustParsePath("rooms/r1")},
		&Kept{Kind: KeptDue, Definition: 3, Path: rooms},
		&Kept{Kind: KeptSources, Definition: 1<<32 - 1, Path: rooms, N: 2},
		&Kept{Kind: KeptMark, Definition: 4, Path: rooms, N: 1, At: tree.MustParsePath("a\"b")},
		&Kept{Kind: KeptUnmark, Definition: 4, N: 512},
		&Kept{Kind: KeptForget, Definition: 4, N: 512},
		&Load{ID: "l1", At: rooms, Now: 5, Seq: 2, Text: "{\n\"a\":"},
		&Link{ID: "l1", By: By{Admin: true}, Writes: []tree.ResolvedWrite{resolved(t, "/rooms/n", "3")}},
		&Link{ID: "l2"},
		&Drop{"l3"},
		&Part{"p", 1, "x"},
		&Join{"p", 2},
	}
}

// TestFormat: an entry has the form of storage §7.7, and is read as it was written.
func TestFormat(t *testing.T) {
	var enc Encoder
	for _, op := range samples(t) {
		enc.Add(op)
	}
	text := string(enc.Seal(header))
	const want = `{"v":1,"db":"5f00000000000001","run":"00000000000000a1","rev":812,"at":1764002345678,"n":21,"sum":"` // and the sum
	if !strings.HasPrefix(text, want) {
		t.Fatalf("the header is %.120s", text)
	}
	lines := strings.Split(text, "\n")
	for i, want := range []string{
		1:  `{"w":{"/rooms/r1/name":"Lob\nby","/rooms/r1/.priority":4,"/":null}}`,
		2:  `{"w":{"/.priority":1},"id":"0b000000000000000000000000000001:7","merge":"/rooms","uid":"ana","admin":true,"door":"socket","cause":"update"}`,
		3:  `{"id":"0b000000000000000000000000000001:7"}`,
		4:  `{"od":"s1","put":[[3,{"target":"/x","value":"1"}],[4,{}]],"del":[1,2]}`,
		6:  `{"rules":{"version":4},"source":"{\n\"rules\":{}}"}`,
		9:  `{"states":{"nextId":3,"states":[{"name":"a"}]}}`,
		10: `{"due":1764002345678,"def":3,"of":"/rooms","at":"/rooms/r1"}`,
		11: `{"due":0,"def":3,"of":"/rooms"}`,
		12: `{"sources":2,"def":4294967295,"of":"/rooms"}`,
		13: `{"mark":1,"def":4,"of":"/rooms","at":"/a\"b"}`,
		15: `{"forget":512,"def":4}`,
		16: `{"load":"l1","at":"/rooms","now":5,"seq":2,"json":"{\n\"a\":"}`,
		17: `{"link":"l1","w":{"/rooms/n":3},"admin":true}`,
	} {
		if want != "" && lines[i] != want {
			t.Errorf("line %d is %s, want %s", i, lines[i], want)
		}
	}
	e, rest, err := Next([]byte(text + "more"))
	if err != nil || string(rest) != "more" || e.Header != header || string(e.Text) != text {
		t.Fatalf("%+v and %q: %v", e.Header, rest, err)
	}
	var got []Operation
	for op, err := range e.Operations() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, op)
	}
	if want := samples(t); !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

// TestDamage: an entry with one byte changed is refused, and so is a part of one.
func TestDamage(t *testing.T) {
	var enc Encoder
	enc.Add(&Seen{ID{Number: 1}})
	enc.Add(&Setting{"a", "b"})
	text := enc.Seal(header)
	for i := range text {
		damaged := bytes.Clone(text)
		damaged[i] ^= 1
		if _, _, err := Next(damaged); err == nil {
			t.Errorf("byte %d may be anything: %q", i, damaged)
		}
		if _, _, err := Next(text[:i]); err == nil {
			t.Errorf("%d bytes are an entry", i)
		}
	}
}

// TestLaterVersion: an entry or an operation that this version does not know is refused with
// an error that says so.
func TestLaterVersion(t *testing.T) {
	if _, _, err := Next([]byte(`{"v":2,"db":"","rev":1,"n":0}` + "\n")); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
	for _, line := range []string{`{"new":1}`, `{"drop":"a","why":1}`, `{"drop": "a"}`} {
		if _, err := parse(line); !errors.Is(err, ErrVersion) {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range []string{``, `{`, `1`, `{"w":{"/a":{".sv":"timestamp"}}}`, `{"w":{"/a[":1}}`, `{"id":"0b:1"}`, `{"od":"a","put":[1]}`} {
		if _, err := parse(line); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestLong: a commit that is too long for one entry becomes several. Each keeps the
// bound, and together they make the same operations.
func TestLong(t *testing.T) {
	long := tree.String(strings.Repeat(`é"`, 200<<10))
	ops := []Operation{
		&Seen{ID{Number: 1}},
		&Write{Writes: []tree.ResolvedWrite{{Target: tree.Target{Path: tree.MustParsePath("a")}, Node: long}}, By: By{UID: "ana"}},
		&Seen{ID{Number: 2}},
	}
	var enc Encoder
	for _, op := range ops {
		enc.Add(op)
	}
	if !enc.Full() {
		t.Error("it is not full")
	}
	text := enc.Seal(header)
	var a Assembler
	for entries := 1; ; entries++ {
		e, rest, err := Next(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Text) > MaxBytes {
			t.Errorf("entry %d has %d bytes", entries, len(e.Text))
		}
		got, whole, err := a.Add(e)
		if err != nil || whole != (len(rest) == 0) {
			t.Fatal(whole, len(rest), err)
		}
		if text = rest; whole {
			if !reflect.DeepEqual(got, ops) {
				t.Error("the operations differ")
			}
			if entries < 5 || a.Open() {
				t.Error(entries, a.Open())
			}
			return
		}
	}
}

// TestParts: parts of several operations may be mixed. Those of a run that has ended, and
// those that were dropped, are gone.
func TestParts(t *testing.T) {
	var a Assembler
	add := func(h Header, ops ...Operation) ([]Operation, error) {
		var enc Encoder
		for _, op := range ops {
			enc.Add(op)
		}
		e, _, err := Next(enc.Seal(h))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := a.Add(e)
		return got, err
	}
	seen := Text(&Seen{ID{Number: 5}})
	must := func(got []Operation, err error) []Operation {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	must(add(header, &Part{"a", 0, seen[:5]}, &Part{"b", 0, "x"}))
	must(add(header, &Part{"a", 1, seen[5:]}, &Drop{"b"}))
	if got := must(add(header, &Join{"a", 2})); !reflect.DeepEqual(got, []Operation{&Seen{ID{Number: 5}}}) {
		t.Errorf("joined %v", got)
	}
	must(add(header, &Part{"c", 0, seen}))
	if _, err := add(header, &Part{"c", 2, seen}); !errors.Is(err, errParts) {
		t.Error(err)
	}
	next := header
	next.Run++
	if _, err := add(next, &Join{"c", 1}); !errors.Is(err, errParts) {
		t.Error(err)
	}
	if _, err := add(next, &Part{"d", 1, seen}); !errors.Is(err, errParts) {
		t.Error(err)
	}

	// A reader that begins between the parts.
	a = Assembler{}
	must(add(header, &Part{"a", 1, seen[5:]}, &Part{"b", 3, "x"}, &Part{"c", 0, seen}))
	must(add(header, &Part{"b", 4, "x"}, &Drop{"b"}))
	if got := must(add(header, &Join{"c", 1})); len(got) != 1 {
		t.Errorf("joined %v", got)
	}
	if _, err := add(header, &Join{"a", 2}); !errors.Is(err, ErrBefore) {
		t.Error(err)
	}
	if a.Open() {
		t.Error("it keeps parts")
	}
}

// TestEncodeAllocates: an entry costs no allocation beyond the memory that the encoder keeps.
func TestEncodeAllocates(t *testing.T) {
	w := Write{Writes: []tree.ResolvedWrite{resolved(t, "/rooms/r1", `{"name":"Lobby"}`)}, By: By{UID: "ana", Door: "rest", Cause: "set"}, ID: &ID{Number: 3}}
	var enc Encoder
	enc.Reset()
	n := testing.AllocsPerRun(100, func() {
		enc.Reset()
		for range 10 {
			enc.AddWrite(w)
		}
		enc.Seal(header)
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzNext(f *testing.F) {
	var enc Encoder
	for _, op := range samples(f) {
		enc.Add(op)
	}
	f.Add(enc.Seal(header))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, rest, err := Next(text)
		if err != nil {
			return
		}
		if !bytes.Equal(append(bytes.Clone(e.Text), rest...), text) {
			t.Error("the entry and the rest are not the text")
		}
		var a Assembler
		_, _, _ = a.Add(e)
	})
}

// FuzzOperation: what is read as an operation is written as it was.
func FuzzOperation(f *testing.F) {
	for _, op := range samples(f) {
		f.Add(Text(op))
	}
	f.Fuzz(func(t *testing.T, line string) {
		op, err := parse(line)
		if err == nil && Text(op) != line {
			t.Errorf("%q became %q", line, Text(op))
		}
	})
}
