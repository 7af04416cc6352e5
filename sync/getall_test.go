package sync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

func lookupOf(path string) Lookup {
	return Lookup{Read: Read{Path: tree.MustParsePath(path), Plain: true}}
}

func eachOf(t *testing.T, path, template string) Lookup {
	t.Helper()
	l := lookupOf(path)
	each, err := tree.ParseTemplate(template)
	if err != nil {
		t.Fatal(err)
	}
	l.Each = &each
	return l
}

// A value that several lookups are about is read once; it counts each time.
func TestGetAllReadsOnce(t *testing.T) {
	db := openTest(t, Options{Rules: rules.Open()})
	long := `"` + strings.Repeat("x", 10_000) + `"`
	set(t, db, "/", `{"a":`+long+`,"b":`+long+`,"index":{"a":true,"b":true}}`)
	last := lookupOf("/")
	last.Read.Plain, last.Read.Query = false, tree.Query{OrderBy: tree.ByKey, Limit: 1, FromLast: true}
	all, err := db.GetAll(t.Context(), []Lookup{lookupOf("/a"), lookupOf("/a"), eachOf(t, "/index", "/$key"), last, last})
	if err != nil {
		t.Fatal(err)
	}
	a, index, window := all.Found[0].Node.Text(), all.Found[2].Each, all.Found[3].Node.Text()
	for i, again := range []string{all.Found[1].Node.Text(), index[0].Node.Text()} {
		if again != long || unsafe.StringData(again) != unsafe.StringData(a) {
			t.Errorf("lookup %d of a value has a copy of its own", i+1)
		}
	}
	if b := index[1].Node.Text(); b != long || window != `{"index":{"a":true,"b":true}}` || all.Found[4].Node.Text() != window {
		t.Errorf("other values are %.20s, %s, %s", b, window, all.Found[4].Node.Text())
	}
	if want := 2*len(long) + len(window); all.Bytes-all.Held != want {
		t.Errorf("of %d bytes %d are held, want %d less", all.Bytes, all.Held, want)
	}
}

// All that one GetAll reads is of one state, however many write meanwhile.
func TestGetAllIsOneMoment(t *testing.T) {
	db := openTest(t, Options{Rules: rules.Open()})
	set(t, db, "/", `{"index":{"a":true,"b":true,"c":true},"v":{"a":0,"b":0,"c":0},"all":0}`)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		for i := 1; ctx.Err() == nil; i++ { // each write keeps all four equal
			w := updateOf(t, "/", fmt.Sprintf(`{"v/a":%d,"v/b":%d,"v/c":%d,"all":%d}`, i, i, i, i))
			if _, err := db.Write(context.Background(), w); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	lookups := []Lookup{lookupOf("/v/a"), eachOf(t, "/index", "/v/$key"), lookupOf("/all"), lookupOf("/v")}
	last, changes := uint64(0), 0
	for changes < 50 {
		all, err := db.GetAll(t.Context(), lookups)
		if err != nil {
			t.Fatal(err)
		}
		n := all.Found[0].Node.JSON()
		seen := []string{all.Found[2].Node.JSON()}
		for _, one := range all.Found[1].Each {
			seen = append(seen, one.Node.JSON())
		}
		for _, child := range all.Found[3].Node.Children() {
			seen = append(seen, child.JSON())
		}
		if want := strings.Repeat(n+" ", 7); strings.Join(seen, " ")+" " != want {
			t.Fatalf("revision %d: %v, want only %s", all.Revision, seen, n)
		}
		if all.Revision < last {
			t.Fatalf("revision %d after %d", all.Revision, last)
		}
		if all.Revision > last {
			last, changes = all.Revision, changes+1
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestGetAllBounds(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{Rules: rules.Open(), MaxRead: 1 << 20})
	var many tree.Builder
	for i := range MaxLookupKeys {
		many.Child(fmt.Sprintf("k%05d", i), tree.Bool(true))
	}
	set(t, db, "/", `{"few":{"a":1,"b":2},"long":"`+strings.Repeat("x", 600<<10)+`"}`)
	set(t, db, "/many", many.Node().JSON())
	set(t, db, "/more", many.Node().JSON())
	set(t, db, "/more/one", "true")
	lookups := func(n int) (list []Lookup) {
		for range n {
			list = append(list, lookupOf("/few/a"))
		}
		return list
	}
	limited := eachOf(t, "/more", "/few/$key")
	limited.Read.Plain, limited.Read.Query = false, tree.Query{OrderBy: tree.ByKey, Limit: MaxLookupKeys, FromLast: true}
	shallow := lookupOf("/many")
	shallow.Shallow = true
	tooShallow := lookupOf("/more")
	tooShallow.Shallow = true
	for _, c := range []struct {
		name    string
		lookups []Lookup
		err     string
	}{
		{"entries", lookups(MaxLookups), ""},
		{"one entry more", lookups(MaxLookups + 1), "a batch get may have at most 1000 entries"},
		{"keys", []Lookup{eachOf(t, "/many", "/few/$key")}, ""},
		{"one key more", []Lookup{eachOf(t, "/more", "/few/$key")}, "a batch get may have at most 10000 keys"},
		{"keys of several", []Lookup{eachOf(t, "/few", "/$key"), eachOf(t, "/many", "/few/$key")}, "a batch get may have at most 10000 keys"},
		{"limited keys", []Lookup{limited}, ""},
		{"shallow", []Lookup{shallow}, ""},
		{"one more, shallow", []Lookup{tooShallow}, "a batch get may have at most 10000 keys"},
		{"bytes", []Lookup{lookupOf("/long")}, ""},
		{"bytes of several", []Lookup{lookupOf("/long"), lookupOf("/long")}, "data exceeds a size limit: one read has at most 1048576 bytes"},
	} {
		all, err := db.GetAll(t.Context(), c.lookups)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != c.err || err == nil && len(all.Found) != len(c.lookups) || err != nil && all.Found != nil {
			t.Errorf("%s: %d found, error %q, want %q", c.name, len(all.Found), text, c.err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.GetAll(ctx, lookups(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// Each place that is read counts, and is told to those who watch.
func TestGetAllIsObserved(t *testing.T) {
	db := openTest(t, Options{Rules: parseRules(t, `{"rules":{"a":{".read":true},"k":{".read":true}}}`)})
	set(t, db, "/", `{"a":{"x":1},"k":{"x":true,"y":true}}`)
	var told []string
	stop := db.WatchOperations(func(o trace.Operation) {
		told = append(told, fmt.Sprintf("%s %s %d %v", o.Name, o.Path, o.Bytes, o.Denied))
	})
	defer stop()
	before := db.Stats().Reads
	if _, err := db.GetAll(t.Context(), []Lookup{lookupOf("/a"), lookupOf("/b"), eachOf(t, "/k", "/a/$key")}); err != nil {
		t.Fatal(err)
	}
	want := "rest-read /a 7 false, rest-read /b 0 true, rest-read /k 2 false, rest-read /a/x 1 false, rest-read /a/y 0 false"
	if got := strings.Join(told, ", "); got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	if n := db.Stats().Reads - before; n != 5 {
		t.Errorf("%d reads were counted, want 5", n)
	}
}

// A costly is a filter that spends a lot at each child, and matches none.
type costly struct{}

func (costly) Needs() []tree.Need { return nil }
func (costly) Text() string       { return "costly" }
func (costly) Most() int          { return 1000 }
func (costly) Match(tree.Reader, tree.Path, string, int) (bool, int, error) {
	return false, tree.MaxLooked / 4, nil
}

// A read keeps its place until its end, so what its filters spend is bounded: of all reads of
// one GetAll together.
func TestFiltersSpendTogether(t *testing.T) {
	db := openTest(t, Options{Rules: rules.Open()})
	long := `"` + strings.Repeat("x", 2000) + `"`
	set(t, db, "/", `{"three":{"a":`+long+`,"b":`+long+`,"c":`+long+`},"six":{"a":`+long+`,"b":`+long+`,"c":`+long+`,"d":1,"e":1,"f":1},"packed":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}}`)
	of := func(path string) Lookup {
		l := lookupOf(path)
		l.Read.Plain, l.Read.Query = false, tree.Query{OrderBy: tree.ByKey, Filter: costly{}}
		return l
	}
	for _, c := range []struct {
		name    string
		lookups []Lookup
		most    int
	}{
		{"three children", []Lookup{of("/three")}, 0},
		{"six children", []Lookup{of("/six")}, 5},
		{"six children in one row", []Lookup{of("/packed")}, 5},
		{"three children twice", []Lookup{of("/three"), of("/three"), of("/six")}, 2},
	} {
		_, err := db.GetAll(t.Context(), c.lookups)
		looks := (*tree.LooksError)(nil)
		if errors.As(err, &looks) != (c.most > 0) || err == nil != (c.most == 0) || looks != nil && (!looks.Text || looks.Most != c.most) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestGetAllAsksForItsAnswer: over the realtime protocol an answer takes memory before it is made, also
// for what is found again, and is refused like a large value where there is none.
func TestGetAllAsksForItsAnswer(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{})
	const mib = 1 << 20
	var keys tree.Builder
	for i := range 4000 {
		keys.Child(fmt.Sprintf(`%04d%s`, i, strings.Repeat(`"`, 700)), tree.Bool(true))
	}
	set(t, db, "/", `{"x":"`+strings.Repeat("x", mib)+`","large":{"some":"`+strings.Repeat("y", 6*mib)+`","more":"`+strings.Repeat("y", 6*mib)+`"},"index":{"a":true,"b":true},"v":{"a":"`+strings.Repeat("z", mib)+`"}}`)
	set(t, db, "/keys", keys.Node().JSON())
	times := func(n int, entry string) string {
		return `"a":"bg","b":{"g":[` + strings.Repeat(entry+",", n-1) + entry + `]}`
	}
	const most = 20 * mib
	m := &peakMemory{testMemory: testMemory{free: most, most: most}}
	c := connect(t, db, "a", 0)
	c.out.TakeFrom(m)
	answer := func(request string) (string, int64) {
		m.peak = 0
		c.send(`{"r":1,` + request + `}`)
		got := answerOf(c)
		if m.free != m.most {
			t.Errorf("%.60s: %d bytes were not given back", request, m.most-m.free)
		}
		return got, m.peak
	}
	tooBig, _ := answer(`"a":"g","b":{"p":"/large"}`)
	if !strings.Contains(tooBig, `"s":"too_big"`) {
		t.Fatalf("a large value: %.200s", tooBig)
	}
	for _, test := range []struct {
		name, request string
		held          int64 // bytes of values, at least; -1: it is too big
	}{
		{"one value", times(1, `{"p":"/x"}`), mib},
		{"a value 18 times", times(18, `{"p":"/x"}`), mib},
		{"a value 20 times", times(20, `{"p":"/x"}`), -1},
		{"a join 18 times", times(18, `{"k":"/index","c":"/v/$key"}`), mib},
		{"a join 20 times", times(20, `{"k":"/index","c":"/v/$key"}`), -1},
		{"keys with quotes", times(1, `{"k":"/keys","c":"/none/$key"}`), 4000 * 700},
		{"a short answer", times(900, `{"p":"/index"}`), 0},
	} {
		got, peak := answer(test.request)
		switch {
		case test.held < 0 && got != tooBig:
			t.Errorf("%s: %.200s, want %.200s", test.name, got, tooBig)
		case test.held == 0 && peak != 0:
			t.Errorf("%s asks for %d bytes", test.name, peak)
		case test.held > 0 && (!strings.Contains(got, `"s":"ok"`) || peak < test.held+int64(len(got))):
			t.Errorf("%s: %.60s of %d bytes, %d with its values, took %d", test.name, got, len(got), int64(len(got))+test.held, peak)
		}
	}
	m.Reserve(t.Context(), 10*mib)
	c.send(`{"r":1,` + times(18, `{"p":"/x"}`) + `}`)
	if got := answerOf(c); !strings.Contains(got, `"s":"unavailable"`) {
		t.Errorf("without memory: %.200s", got)
	}
	m.Release(10 * mib)
}

// A peakMemory knows how much was taken of it at a time.
type peakMemory struct {
	testMemory
	peak int64
}

func (m *peakMemory) Reserve(ctx context.Context, n int64) error {
	err := m.testMemory.Reserve(ctx, n)
	m.peak = max(m.peak, m.most-m.free)
	return err
}

// TestSizeOfFindings: an answer fits in the memory that is asked for, and that is not much more.
func TestSizeOfFindings(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	value := Found{Node: tree.String("text")}
	denied := Found{Err: fault.Denied("/a/$b/.read", `of "a"`)}
	for _, one := range []Found{
		value, {}, denied, {Err: fault.ErrDenied},
		{Keys: []string{}, Each: []Found{}},
		{Keys: []string{"a", `b"`, `c\\`}, Each: []Found{value, denied, {}}},
	} {
		all := Findings{Revision: 1<<64 - 1}
		for n := range 100 {
			length := len(wire.AppendOKWith(nil, 1<<63-1, func(dst []byte) []byte { return appendFindings(dst, all) }))
			if size := all.size(); size < length || size > length+128+n*48 {
				t.Fatalf("%d times %+v: an answer of %d bytes has size %d", n, one, length, size)
			}
			all.Found = append(all.Found, one)
		}
	}
}
