package sync

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/tree"
)

// A bounded is a client that knows which bounds it reached.
type bounded struct {
	*client
	reached map[fault.Bound]int
}

func connectBounded(t testing.TB, db *Database, name string, q *quota.Quota) bounded {
	t.Helper()
	c := bounded{connect(t, db, name, 0), make(map[fault.Bound]int)}
	c.session.quota = q
	c.session.limited = func(b fault.Bound) { c.reached[b]++ } // of a refusal in the committer, too: see settle
	return c
}

// answer sends a request and returns the status of its answer.
func (c bounded) answer(request string) string {
	c.t.Helper()
	c.send(request)
	c.settle()
	got := c.frames()
	last := got[len(got)-1]
	_, status, _ := strings.Cut(last, `"s":"`)
	status, _, _ = strings.Cut(status, `"`)
	return status
}

func (c bounded) want(doing, request, status string) {
	c.t.Helper()
	if got := c.answer(request); got != status {
		c.t.Errorf("%s: %s is answered %s, want %s", c.name, doing, got, status)
	}
}

func (c bounded) wantReached(want map[fault.Bound]int) {
	c.t.Helper()
	if !maps.Equal(c.reached, want) {
		c.t.Errorf("%s came up against %v, want %v", c.name, c.reached, want)
	}
}

func listenOf(path string, tag int, query string) string {
	return fmt.Sprintf(`{"r":1,"a":"q","b":{"p":%q,"q":%s,"t":%d,"h":""}}`, path, query, tag)
}

func unlistenOf(path string, tag int) string {
	return fmt.Sprintf(`{"r":1,"a":"n","b":{"p":%q,"t":%d}}`, path, tag)
}

func limited(n int) string { return fmt.Sprintf(`{"i":".key","l":%d,"vf":"l"}`, n) }

// TestQuotaListens: sessions that share a quota have so many listens together,
// however their listens end.
func TestQuotaListens(t *testing.T) {
	db := openTest(t, Options{})
	q := quota.New(quota.Limits{Listens: 3})
	a, b, other := connectBounded(t, db, "a", q), connectBounded(t, db, "b", q), connectBounded(t, db, "other", nil)
	defer other.session.Close()
	for i := range 3 {
		a.want("a listen", listenOf("/x", i+1, "{}"), "ok")
	}
	b.want("one too many", listenOf("/x", 1, "{}"), "too_big")
	a.want("the same again", listenOf("/x", 1, "{}"), "ok")
	other.want("a listen of another quota", listenOf("/x", 1, "{}"), "ok")
	a.want("an end", unlistenOf("/x", 1), "ok")
	b.want("a listen in its place", listenOf("/x", 1, "{}"), "ok")
	a.want("one for notices", `{"r":1,"a":"nt","b":{"p":"/x","t":9}}`, "too_big")
	a.want("another end", unlistenOf("/x", 2), "ok")
	a.want("one for notices in its place", `{"r":1,"a":"nt","b":{"p":"/x","t":9}}`, "ok")
	b.want("one too many, again", listenOf("/x", 2, "{}"), "too_big")
	a.wantReached(map[fault.Bound]int{fault.BoundQuotaListens: 1})
	b.wantReached(map[fault.Bound]int{fault.BoundQuotaListens: 2})
	a.session.Close()
	b.session.Close()
	for i := range 3 {
		if q.Take(tree.Root, tree.Query{}) != nil {
			t.Errorf("%d listens are counted for closed sessions", 3-i)
			break
		}
	}
}

// TestListensOfAll: all quotas together have so many listens, and one of them as many as are left for the
// others.
func TestListensOfAll(t *testing.T) {
	db := openTest(t, Options{})
	all := limit.NewMeter(7)
	of := func(name string) bounded {
		return connectBounded(t, db, name, quota.New(quota.Limits{Listens: 100, All: all}))
	}
	a, b, c := of("a"), of("b"), of("c")
	for i, from := range []bounded{a, a, a, a, a, b, b, b, c, c} {
		from.want(fmt.Sprintf("listen %d", i), listenOf("/x", i+1, "{}"), map[bool]string{false: "ok", true: "too_big"}[i == 4 || i == 7 || i == 9])
	}
	a.wantReached(map[fault.Bound]int{fault.BoundQuotaListens: 1})
	c.wantReached(map[fault.Bound]int{fault.BoundCommonListens: 1})
	a.session.Close()
	deep := "/" + strings.Repeat("k/", 31) + "k"
	b.want("a listen of many keys, which counts as four", listenOf(deep, 20, "{}"), "too_big")
	b.session.Close()
	c.want("the same", listenOf(deep, 20, "{}"), "too_big")
	c.want("one of a few", listenOf("/a/b/c", 21, "{}"), "ok")
	c.session.Close()
	if used := all.Used(); used != 0 {
		t.Errorf("%d listens are counted for closed sessions", used)
	}
}

// manyRepeats is a filter that takes some 70 KiB when it is compiled.
func manyRepeats(i int) string {
	return fmt.Sprintf(`{"w":"key != '%d' && key.matches(/(a?){0,250}(a?){0,249}b/)"}`, i)
}

// TestQuotaFilters: a listen counts for what its compiled filter takes, in its quota and in its
// session, and nothing of it is left when it has ended.
func TestQuotaFilters(t *testing.T) {
	db, q := openTest(t, Options{}), quota.New(quota.Limits{Listens: 100})
	a := connectBounded(t, db, "a", q)
	a.want("a listen with a filter", listenOf("/x", 1, manyRepeats(1)), "ok")
	if one := a.session.listening; one < 50<<10 {
		t.Errorf("a session counts %d bytes for a filter of 2,000 instructions", one)
	}
	a.want("another", listenOf("/y", 1, manyRepeats(2)), "too_big")
	a.wantReached(map[fault.Bound]int{fault.BoundQuotaListens: 1})
	a.want("an end", unlistenOf("/x", 1), "ok")
	for i := range 100 {
		a.want("a listen without a filter", listenOf("/x", i+1, "{}"), "ok")
	}
	a.session.Close()
}

// TestBatchFilters: the filters of one batch take little memory together. Equal ones count once.
func TestBatchFilters(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	c := connectBounded(t, openTest(t, Options{}), "a", nil)
	batch := func(of func(i int) string) string {
		list := make([]string, 200)
		for i := range list {
			list[i] = `{"p":"/x","q":` + of(i) + `}`
		}
		return `{"r":1,"a":"bg","b":{"g":[` + strings.Join(list, ",") + `]}}`
	}
	c.want("200 large filters", batch(manyRepeats), "invalid_parameters")
	c.want("one of them 200 times", batch(func(int) string { return manyRepeats(1) }), "ok")
	c.want("200 small filters", batch(func(i int) string { return fmt.Sprintf(`{"w":"key != '%d'"}`, i) }), "ok")
	c.session.Close()
}

// TestQuotaPending: sessions that share a quota leave so much for their
// disconnect together.
func TestQuotaPending(t *testing.T) {
	db := openTest(t, Options{})
	pending := limit.NewMeter(limit.Unbounded).Share(100_000)
	q := quota.New(quota.Limits{})
	a, b := connectBounded(t, db, "a", q), connectBounded(t, db, "b", q)
	a.session.pendingBytes, b.session.pendingBytes = pending, pending
	long := strings.Repeat("x", 60_000)
	put := func(path, value string) string {
		return fmt.Sprintf(`{"r":1,"a":"o","b":{"p":%q,"d":%q}}`, path, value)
	}
	a.want("a long value", put("/a", long), "ok")
	b.want("another", put("/b", long), "too_big")
	b.want("a short one", put("/b", "x"), "ok")
	b.wantReached(map[fault.Bound]int{fault.BoundQuotaPending: 1})
	a.want("a cancel", `{"r":1,"a":"oc","b":{"p":"/a"}}`, "ok")
	b.want("another after a cancel", put("/b", long), "ok")
	for i := range 300 { // each costs something beside its text
		a.answer(put(fmt.Sprintf("/a%d", i), ""))
	}
	if n := a.reached[fault.BoundQuotaPending]; n < 100 {
		t.Errorf("%d of 300 short values were refused", n)
	}
	a.session.Close()
	b.session.Close()
	if n := pending.Used(); n != 0 {
		t.Errorf("%d bytes are counted for closed sessions", n)
	}
	want(t, db, "/b", `"`+long+`"`)
}

// TestCommonPending: all sessions have a common bound of what they leave for their
// disconnect, on whichever database, and one address leaves as much room as it has. What
// is gone with a session, or with a batch that fails, counts no more.
func TestCommonPending(t *testing.T) {
	log := new(faultyLog)
	dbs := []*Database{openTest(t, Options{Change: log}), openTest(t, Options{})}
	const most = 100_000
	common := limit.NewMeter(most)
	greedy := common.Share(2 * most)
	session := func(i int, name string, pending *limit.Share) bounded {
		c := connectBounded(t, dbs[i], name, nil)
		c.session.pendingBytes = pending
		return c
	}
	a, b := session(0, "a", greedy), session(1, "b", greedy)
	other, exempt := session(0, "other", common.Share(limit.Unbounded)), session(1, "exempt", common.All())
	put := func(path string, size int) string {
		return fmt.Sprintf(`{"r":1,"a":"o","b":{"p":%q,"d":%q}}`, path, strings.Repeat("x", size))
	}
	a.want("a part", put("/a", 40_000), "ok")
	b.want("more than it leaves to others", put("/b", 20_000), "too_big")
	b.wantReached(map[fault.Bound]int{fault.BoundQuotaPending: 1})
	b.want("what it may have", put("/b", 5_000), "ok")
	other.want("as much as is left to another", put("/other", 25_000), "ok")
	exempt.want("the rest", put("/exempt", 25_000), "ok")
	if got := exempt.answer(put("/more", 10_000)); got != "too_big" {
		t.Errorf("more than there is: %s, want too_big", got)
	}
	exempt.wantReached(map[fault.Bound]int{fault.BoundCommonPending: 1})
	before := common.Used()

	log.set(true)
	g := closeGate(t, dbs[0])
	other.send(put("/other", 10))
	other.send(`{"r":2,"a":"p","b":{"p":"/x","d":1}}`) // in the same batch
	close(g.open)
	other.settle()
	log.set(false)
	if got := strings.Join(other.frames(), ""); strings.Count(got, `"s":"unavailable"`) != 2 {
		t.Errorf("in a batch that fails: %s, want unavailable", got)
	}
	if n := common.Used(); n != before {
		t.Errorf("%d bytes are counted after a batch that failed, want %d", n, before)
	}
	a.session.Close()
	exempt.want("in the room of a session that has ended", put("/more", 10_000), "ok")
	for _, c := range []bounded{b, other, exempt} {
		c.session.Close()
	}
	if n := common.Used(); n != 0 {
		t.Errorf("%d bytes are counted for closed sessions", n)
	}
}

// TestSessionWindows: different queries at one path are bounded by weight, those
// of different paths and those of everything are not.
func TestSessionWindows(t *testing.T) {
	db := openTest(t, Options{})
	c := connectBounded(t, db, "a", nil)
	defer c.session.Close()
	fits := 0
	for c.answer(listenOf("/x", fits+1, limited(10*audience.EntriesOfWeight+fits%10))) == "ok" {
		fits++
	}
	if fits != maxWindows/11 {
		t.Errorf("%d windows of weight 11 fit, want %d", fits, maxWindows/11)
	}
	c.want("everything", listenOf("/x", 5000, "{}"), "ok")
	c.want("another path", listenOf("/y", 5001, limited(1<<30)), "ok")
	c.want("an end", unlistenOf("/x", 3), "ok")
	c.want("one in its place", listenOf("/x", 5002, limited(1000)), "ok")
	c.wantReached(map[fault.Bound]int{fault.BoundWindows: 1})
	for i := range 6000 {
		c.session.stop(listenKey{tree.MustParsePath("/x"), int64(i)})
	}
	if n := c.session.windows[tree.MustParsePath("/x")]; n != 0 {
		t.Errorf("a weight of %d is counted for no windows", n)
	}
}

// TestQuotaWindows: what many sessions of a quota follow together counts once.
func TestQuotaWindows(t *testing.T) {
	db := openTest(t, Options{})
	q := quota.New(quota.Limits{Windows: 20})
	a, b := connectBounded(t, db, "a", q), connectBounded(t, db, "b", q)
	for i := range 30 {
		a.want("the same window", listenOf("/x", i+1, limited(50)), "ok")
	}
	for i := range 19 {
		b.want("a window", listenOf("/x", i+1, limited(i+1)), "ok")
	}
	b.want("one too many", listenOf("/x", 100, limited(40)), "too_big")
	b.want("one that is there", listenOf("/x", 100, limited(50)), "ok")
	b.want("another path", listenOf("/y", 100, limited(40)), "ok")
	b.wantReached(map[fault.Bound]int{fault.BoundQuotaWindows: 1})
	a.session.Close()
	b.want("the one that is there, alone", unlistenOf("/x", 100), "ok")
	b.want("one in its place", listenOf("/x", 101, limited(40)), "ok")
	b.session.Close()
	checkAudience(t, db)
}

// roomIn returns how many units fit into a quota.
func roomIn(q *quota.Quota) (n int64) {
	for q.Fits(n + 1) {
		n++
	}
	return n
}

// TestQuotaKept: the keys and values of windows count for each quota that follows them, once, also those that
// others write later. Nothing is counted of a write that fails, or in the end.
func TestQuotaKept(t *testing.T) {
	log := new(faultyLog)
	db := openTest(t, Options{Change: log})
	text := func(kib int) string { return `"` + strings.Repeat("x", kib<<10) + `"` }
	for i := range 10 { // 30 KiB
		set(t, db, fmt.Sprintf("/p/k%d/s", i), text(3))
	}
	first := func(n int) string { return fmt.Sprintf(`{"i":"s","l":%d,"vf":"l"}`, n) }
	q := quota.New(quota.Limits{Listens: 100})
	a, b, other := connectBounded(t, db, "a", q), connectBounded(t, db, "b", q), connectBounded(t, db, "other", nil)
	left := func(doing string, want int64) {
		t.Helper()
		if got := roomIn(q); got != want {
			t.Errorf("%s: there is room for %d units, want %d", doing, got, want)
		}
	}
	a.want("a window", listenOf("/p", 1, first(50)), "ok")
	left("a window", 100-31)
	b.want("the same", listenOf("/p", 1, first(50)), "ok")
	left("twice", 100-32)
	a.want("another", listenOf("/p", 2, first(51)), "ok")
	b.want("a third", listenOf("/p", 2, first(52)), "ok")
	a.want("one too many", listenOf("/p", 3, first(53)), "too_big")
	other.want("it for another quota", listenOf("/p", 3, first(53)), "ok")
	a.want("it again, now that it is known", listenOf("/p", 3, first(53)), "too_big")
	left("three", 100-94)
	a.want("an end", unlistenOf("/p", 2), "ok")
	left("two", 100-63)
	a.want("one in its place", listenOf("/p", 3, first(53)), "ok")

	log.set(true)
	if _, err := db.Write(t.Context(), putOf(t, "/p/k0/s", text(20))); err == nil {
		t.Fatal("a write is committed that cannot be")
	}
	log.set(false)
	left("after a write that fails", 100-94)
	checkAudience(t, db)
	set(t, db, "/p/k0/s", text(20)) // three windows grow by 17 KiB, and two have room
	cancelled := 0
	for _, c := range []bounded{a, b} {
		cancelled += strings.Count(strings.Join(c.frames(), ""), "too many long keys")
	}
	if got := len(other.frames()); cancelled == 0 || got != 1 {
		t.Errorf("%d listens are cancelled; another quota is sent %d frames", cancelled, got)
	}
	if !q.Fits(0) {
		t.Error("more is counted than there may be")
	}
	if n := a.reached[fault.BoundQuotaKept] + b.reached[fault.BoundQuotaKept]; n != 2+cancelled {
		t.Errorf("the bound was reached %d times, want %d", n, 2+cancelled)
	}
	checkAudience(t, db)
	a.session.Close()
	left("of one session", 100-48)
	b.session.Close()
	other.session.Close()
	left("of none", 100)
	checkAudience(t, db)
}

// TestPathWindows: beyond the bound of a path nobody can follow what nobody
// follows yet, and everything else goes on.
func TestPathWindows(t *testing.T) {
	db := openTest(t, Options{})
	var clients []bounded
	windows := 0
	for windows < audience.DefaultPathWindows {
		c := connectBounded(t, db, fmt.Sprint("c", len(clients)), nil)
		defer c.session.Close()
		for range maxWindows / audience.MaxWindowWeight {
			windows += audience.MaxWindowWeight
			c.want("a window", listenOf("/x", windows, limited(1_000_000+windows)), "ok")
		}
		clients = append(clients, c)
	}
	last := connectBounded(t, db, "last", nil)
	defer last.session.Close()
	last.want("a new one", listenOf("/x", 1, limited(1)), "too_big")
	last.want("one that is there", listenOf("/x", 2, limited(1_000_000+windows)), "ok")
	last.want("everything", listenOf("/x", 3, "{}"), "ok")
	last.want("below", listenOf("/x/y", 4, limited(1)), "ok")
	last.wantReached(map[fault.Bound]int{fault.BoundPathWindows: 1})
	clients[0].want("an end", unlistenOf("/x", audience.MaxWindowWeight), "ok")
	last.want("one in its place", listenOf("/x", 1, limited(1)), "ok")
}

// TestPathWindowsOption: the bound of a path can be set.
func TestPathWindowsOption(t *testing.T) {
	for windows, fit := range map[int]int{3: 3, maxWindows - 1: maxWindows - 1, MaxPathWindows + 1: maxWindows} {
		db := openTest(t, Options{Windows: windows})
		c := connectBounded(t, db, "c", nil)
		fits := 0
		for fits <= maxWindows && c.answer(listenOf("/x", fits+1, fmt.Sprintf(`{"i":".key","sp":"k%d"}`, fits))) == "ok" {
			fits++
		}
		if fits != fit {
			t.Errorf("with a bound of %d, %d queries fit, want %d", windows, fits, fit)
		}
		c.session.Close()
	}
}

// TestUnackedBytes: a session has so many bytes of writes on their way, and the
// next one waits.
func TestUnackedBytes(t *testing.T) {
	db := openTest(t, Options{})
	c := connect(t, db, "a", 0)
	defer c.session.Close()
	waits := make(chan fault.Bound, 1)
	c.session.limited = func(b fault.Bound) { waits <- b }
	g := closeGate(t, db)
	c.send(`{"r":1,"a":"p","b":{"p":"/x","d":1,"junk":"` + strings.Repeat("x", maxUnackedSize) + `"}}`)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		c.send(`{"r":2,"a":"p","b":{"p":"/x","d":2}}`)
	}()
	if b := <-waits; b != fault.BoundWrites {
		t.Errorf("bound %d was reached, want that of writes", b)
	}
	select {
	case <-sent:
		t.Error("one more was taken")
	default:
	}
	close(g.open)
	<-sent
	c.settle()
	if got := len(c.frames()); got != 2 || c.session.size != 0 {
		t.Errorf("%d answers, and %d bytes are left", got, c.session.size)
	}
	want(t, db, "/x", "2")
}

// TestUnindexedWindows: a query without an index weighs more than one with an index.
func TestUnindexedWindows(t *testing.T) {
	parsed, err := rules.Parse(`{"rules":{".read":true,"x":{".indexOn":"a"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	db := openTest(t, Options{Rules: parsed})
	for _, test := range []struct {
		order string
		fit   int
	}{{"a", maxWindows}, {"b", maxWindows / audience.UnindexedWeight}} {
		c := connectBounded(t, db, test.order, nil)
		fits := 0
		for fits <= maxWindows && c.answer(listenOf("/x", fits+1, fmt.Sprintf(`{"i":%q,"sp":"%d","l":1,"vf":"l"}`, test.order, fits))) == "ok" {
			fits++
		}
		if fits != test.fit {
			t.Errorf("%d queries by %s fit, want %d", fits, test.order, test.fit)
		}
		c.session.Close()
	}
}

// TestScannedWindows: a query without an index weighs more where there are many children,
// and one that is denied does not tell how many there are.
func TestScannedWindows(t *testing.T) {
	tier.Need(t, tier.Full)
	db := openTest(t, Options{Rules: parseRules(t, `{"rules":{"x":{".read":true,".indexOn":"a"}}}`)})
	children := manyChildren(50 * audience.ScannedOfWeight)
	set(t, db, "/x", children)
	set(t, db, "/hidden", children)
	for _, test := range []struct {
		path, order, then string
		fit               int
	}{
		{"/x", "a", "too_big", maxWindows},
		{"/x", "b", "too_big", maxWindows / (audience.UnindexedWeight + 50)},
		{"/hidden", "b", "permission_denied", 0},
	} {
		c := connectBounded(t, db, test.path+test.order, nil)
		fits, status := 0, ""
		for ; fits <= maxWindows; fits++ {
			c.send(listenOf(test.path, fits+1, fmt.Sprintf(`{"i":%q,"sp":%d,"l":1,"vf":"l"}`, test.order, 1_000_000+fits)))
			if got := c.frames(); len(got) > 0 && !strings.Contains(got[len(got)-1], `"ok"`) {
				_, status, _ = strings.Cut(got[len(got)-1], `"s":"`)
				status, _, _ = strings.Cut(status, `"`)
				break
			}
		}
		if fits != test.fit || status != test.then {
			t.Errorf("%s by %s: %d queries fit, and then %q, want %d and %q", test.path, test.order, fits, status, test.fit, test.then)
		}
		c.session.Close()
	}
	if n := db.Stats().Listeners; n != 0 {
		t.Errorf("%d listeners are left", n)
	}
}
