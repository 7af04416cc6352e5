package rules

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/rules/internal/snapshot"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// readAt decides a read of /rooms/r1 with one rule, both ways.
func readAt(t *testing.T, expression string, q *Request) bool {
	t.Helper()
	q.Op, q.Path, q.Now = OpRead, tree.MustParsePath("rooms/r1"), time.UnixMilli(testNow)
	if q.Data == nil {
		q.Data = stored{}
	}
	return verdict(t, mustRules(t, rulesWith(".read", expression)), q) == "allow"
}

func TestExpressions(t *testing.T) {
	data := stored{tree.MustParseNode(`{"deep":{"a":{"b":1}},"e":"\ud83d\ude00","big":9007199254740993,"rooms":{"r1":{"t":"x"}}}`)}
	auth := NewAuth(`{"uid":"ann","n":1.5,"list":["a",{"k":2}],"o":{"length":"own","0":"zero"},"s":"text"}`)
	for _, c := range []struct {
		rule string
		want bool
	}{
		// Claims: every member of everything, arrays by index.
		{`auth.list[0] == 'a' && auth.list['0'] == 'a' && auth['list'][1].k == 2`, true},
		{`auth.list[2] == null && auth.list[0.5] == null && auth.list['00'] == null && auth.list.length == null`, true},
		{`auth.o.length == 'own' && auth.o[0] == 'zero' && auth.s.length == 4 && auth.n.length == null`, true},
		{`auth.uid.nothing.at.all == null`, true},
		{`auth.s.contains == null`, true},
		{`auth == auth`, false},
		{`auth.list != auth.list`, true},
		{`auth[auth.none] == null`, false},
		{`auth.list.contains('a')`, false},

		// Snapshots.
		{`root.child('/deep/a/').val() != null && root.child('deep').child('a').hasChild('b')`, true},
		{`root.child('deep//a').exists()`, true},
		{`root.child('').exists() || root.child('/').exists() || root.child('deep/../deep').exists()`, false},
		{`root.child('a.b').parent().exists()`, false},
		{`!root.child('a.b').child('c').parent().exists()`, true},
		{`root.parent().exists() || true`, false},
		{`data.parent().parent().parent().exists() || true`, false},
		{`data.parent().parent().child('e').val().length == 2`, true},
		{`root.child('e').hasChildren([]) && root.child('none').hasChildren([])`, true},
		{`(auth != null ? data : root).child('t').val() == 'x'`, true},
		{`root.child('deep').val() == root.child('deep').val()`, false},
		{`root.child(auth.n).exists() || true`, false},
		{`root.child(auth.none).exists() || true`, false},
		{`root.hasChildren(['none', auth.none]) == false`, false},
		{`root.child('x' + auth.n + now).exists() == false`, true},
		{`root.child('x' + auth.list).exists() == false`, false},

		// Numbers and strings.
		{`1 / 0 > 2 || 1 / 0 < 2 || 1 / 0 == 1 / 0`, false},
		{`5 % 0 != 5 % 0 && -5 % 3 == -2 && 5.5 % 2 == 1.5`, true},
		{`'' + 1 / 0 == 'NaN' && '' + 1e21 == '1e+21' && '' + 1e-7 == '1e-7' && '' + -0 == '0' && 1 + '' + 2 == '12'`, true},
		{`'' + 1e308 * 10 == 'Infinity' && '' + -1e308 * 10 == '-Infinity'`, true},
		{`root.child('big').val() == 9007199254740992`, true},
		{`'\uFFEE' > '😀' && 'a' < 'b' && 'a' <= 'a' && 'b' >= 'a'`, true},
		{`'1' < 2 || true`, false},
		{`null == auth.none && 'aaa'.replace('a', 'bb') == 'bbbbbb' && 'a'.replace('', 'x') == 'a'`, true},
		{`'ÄÉ'.toLowerCase() == 'äé' && 'äé'.toUpperCase() == 'ÄÉ'`, true},

		// What has no value is unequal to everything.
		{`(true ? data : 1) == 1 || (true ? data.val : 1) == 1 || (true ? query : 1) == 1 || (true ? /a/ : 1) == 1`, false},
		{`(false ? data : 1) == 1`, true},
		{`(true ? query : query).orderByKey`, false},
	} {
		text := strings.ReplaceAll(c.rule, `\`, `\\`)
		if got := readAt(t, text, &Request{Data: data, Auth: auth}); got != c.want {
			t.Errorf("%s: %t, want %t", c.rule, got, c.want)
		}
	}
}

func TestQueryVariable(t *testing.T) {
	at := func(v tree.Node, r tree.KeyRank) tree.Bound { return tree.Bound{Set: true, Value: v, KeyRank: r} }
	after := at(tree.Number(5), tree.AfterKeys)
	after.Exclusive = true
	for _, c := range []struct {
		name, rule string
		query      tree.Query
	}{
		{"REST without parameters", `query.orderByKey && !query.orderByPriority && query.orderByChild == null`, tree.Query{OrderBy: tree.ByKey}},
		{"socket without parameters", `!query.orderByKey && query.orderByPriority && !query.orderByValue && query.orderByChild == null && query.startAt == null`, tree.Query{}},
		{"bare limit", `query.orderByKey && !query.orderByPriority && query.limitToFirst == 3 && query.limitToLast == null`, tree.Query{Limit: 3}},
		{"bare limit from the end", `query.orderByKey && query.limitToLast == 3 && query.limitToFirst == null`, tree.Query{Limit: 3, FromLast: true}},
		{"range by priority", `query.orderByPriority && !query.orderByKey && query.startAt == 5 && query.equalTo == null`, tree.Query{Start: at(tree.Number(5), tree.BeforeKeys)}},
		{"equalTo", `query.equalTo == 5 && query.startAt == 5 && query.endAt == 5 && query.orderByChild == 'a/b'`,
			tree.Query{OrderBy: "a/b", Start: at(tree.Number(5), tree.BeforeKeys), End: at(tree.Number(5), tree.AfterKeys)}},
		{"startAfter", `query.equalTo == null && query.startAt == 5`,
			tree.Query{OrderBy: "a", Start: after, End: at(tree.Number(5), tree.AfterKeys)}},
		{"endBefore", `query.equalTo == null && query.endAt == 5`,
			tree.Query{OrderBy: "a", Start: at(tree.Number(5), tree.BeforeKeys), End: at(tree.Number(5), tree.BeforeKeys)}},
		{"members of bounds", `query.startAt.length == 2 && query.endAt.toUpperCase() == 'AB' && query.equalTo.matches(/^ab$/) && query.equalTo.beginsWith('a')`,
			tree.Query{OrderBy: "a", Start: at(tree.String("ab"), tree.BeforeKeys), End: at(tree.String("ab"), tree.AfterKeys)}},
		{"ordering", `query.orderByChild == 'a/b' && 'a' != query.orderByChild && query.orderByChild == query.orderByChild`, tree.Query{OrderBy: "a/b"}},
		{"null bound", `query.startAt == null && query.equalTo == null && query.orderByValue`,
			tree.Query{OrderBy: tree.ByValue, Start: at(tree.Empty, tree.BeforeKeys), End: at(tree.Empty, tree.AfterKeys)}},
	} {
		if !readAt(t, c.rule, &Request{Query: c.query}) {
			t.Errorf("%s: %s is not true", c.name, c.rule)
		}
	}
}

// Members of a bound that is no string are errors, which nothing makes up for.
func TestBoundsThatAreNoStrings(t *testing.T) {
	number := tree.Bound{Set: true, Value: tree.Number(5)}
	for _, rule := range []string{
		`query.equalTo.length > 0 || true`, `!query.startAt.contains('a')`, `query.endAt.matches(/5/) || true`,
		`query.equalTo.toLowerCase() != 'a'`, `query.startAt.replace('a', 'b') != 'a'`,
	} {
		for _, q := range []tree.Query{{}, {OrderBy: "a", Start: number, End: number}} {
			if readAt(t, rule, &Request{Query: q}) {
				t.Errorf("%s is true for %+v", rule, q)
			}
		}
	}
}

func TestQueryInWrites(t *testing.T) {
	r := mustRules(t, rulesWith(".write", `!query.orderByKey && !query.orderByPriority && query.limitToFirst == null`))
	q := &Request{Op: OpWrite, Writes: writes(t, stored{}, false, "rooms/r1", "1"), Query: tree.Query{OrderBy: tree.ByKey, Limit: 2}}
	if verdict(t, r, q) != "allow" {
		t.Error("a write has a query")
	}
}

func TestNewRoot(t *testing.T) {
	src := rulesWith(".write", `newRoot.child('count').val() == 1 && !root.child('count').exists()`)
	if _, err := Parse(src); err == nil {
		t.Error("Parse accepts newRoot")
	}
	r, err := ParseWith(src, ParseOptions{Extensions: lang.Extensions{NewRoot: true}})
	if err != nil {
		t.Fatal(err)
	}
	q := &Request{Op: OpWrite, Data: stored{}, Writes: writes(t, stored{}, true, "/", `{"rooms/r1":1,"count":1}`)}
	if d := check(t, r, q); d.Allow || d.Rule != "" { // nothing grants the write of /count
		t.Errorf("%v, want a denial without a rule", d)
	}
	q.Writes = q.Writes[:1]
	if d := check(t, r, q); d.Allow || d.Rule == "" {
		t.Errorf("%v, want a denial by the rule", d)
	}
}

func TestWilddog(t *testing.T) {
	src := rulesWith(".read", `$room.startsWith('r') && $room.length() == 2 && $room.matches('^r[0-9]$')`)
	if _, err := Parse(src); err == nil {
		t.Error("Parse accepts it in Firebase's dialect")
	}
	r, err := ParseWith(src, ParseOptions{Dialect: lang.Wilddog})
	if err != nil {
		t.Fatal(err)
	}
	if d := check(t, r, &Request{Op: OpRead, Path: tree.MustParsePath("rooms/r1")}); !d.Allow {
		t.Error("denied")
	}
}

func TestStringsAreBounded(t *testing.T) {
	data := stored{tree.MustParseNode(`{"k":"` + strings.Repeat("k", 1<<10) + `","m":"` + strings.Repeat("m", 1<<20) + `"}`)}
	for _, c := range []struct {
		rule string
		want bool
	}{
		{`root.child('m').val().length == 1048576 && root.child('m').val().contains('mm')`, true},
		{`(root.child('m').val() + '').length > 0`, true},
		{`(root.child('m').val() + 'x').length > 0`, false},
		{`('x' + 1 + root.child('m').val()).length > 0`, false},
		{`root.child('m').val().replace('m', 'n').length > 0`, true},
		{`root.child('m').val().replace('m', '').length == 0`, true},
		{`root.child('m').val().replace('m', 'mm').length > 0`, false},
		{`root.child('k').val().replace('k', root.child('k').val()).length == 1048576`, true},
		{`root.child('m').val().toUpperCase().length > 0`, true},
	} {
		if got := readAt(t, c.rule, &Request{Data: data}); got != c.want {
			t.Errorf("%s: %t, want %t", c.rule, got, c.want)
		}
	}
}

// list is the text of an object with n children.
func list(n int, child string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%s`, i, child)
	}
	return "{" + b.String()[1:] + "}"
}

func TestEvaluationsAreBounded(t *testing.T) {
	r := mustRules(t, `{"rules":{".write":true,"l":{"$k":{".validate":"newData.isNumber()"}}}}`)
	for _, n := range []int{snapshot.MaxEvaluations, snapshot.MaxEvaluations + 1} {
		q := &Request{Op: OpWrite, Data: stored{}, Writes: writes(t, stored{}, false, "l", list(n, "1"))}
		d := check(t, r, q)
		if want := n <= snapshot.MaxEvaluations; d.Allow != want {
			t.Errorf("a write that is validated %d times: %v, want allow = %t", n, d, want)
		}
		if x, err := r.Explain(t.Context(), q); err != nil || x.Decision != d || len(x.Steps) != maxSteps {
			t.Errorf("Explain: %v with %d steps, %v", x.Decision, len(x.Steps), err)
		}
	}
}

// Rules that look from each of many children at another one must not search the
// whole write each time; with 20,000 children that would take minutes.
func TestLargeWrites(t *testing.T) {
	const n = 20_000
	r := mustRules(t, `{"rules":{".write":true,"l":{"$k":{".validate":
		"newData.parent().hasChild($k) && newData.parent().parent().child('l/k7/v').val() == newData.child('v').val()"}}}}`)
	one := &Request{Op: OpWrite, Data: stored{}, Writes: writes(t, stored{}, false, "l", list(n, `{"v":1}`))}
	var updates strings.Builder
	for i := range n {
		fmt.Fprintf(&updates, `,"l/k%d/v":1`, i)
	}
	many := &Request{Op: OpWrite, Data: stored{}, Writes: writes(t, stored{}, true, "/", "{"+updates.String()[1:]+"}")}
	for _, q := range []*Request{one, many} {
		if d := check(t, r, q); !d.Allow {
			t.Errorf("%d writes: %v", len(q.Writes), d)
		}
	}
}

// unsound is a Reader that panics.
type unsound struct{ stored }

func (unsound) Has(tree.Path) (bool, error)             { panic("unsound") }
func (unsound) Peek(tree.Path) (tree.Node, bool, error) { panic("unsound") }

func TestPanicsDeny(t *testing.T) {
	for range 2 { // what is pooled is still usable
		if readAt(t, `data.exists() || true`, &Request{Data: unsound{}}) {
			t.Error("allowed")
		}
		if !readAt(t, `!data.exists()`, &Request{}) {
			t.Error("denied")
		}
	}
}

func TestExpressionsReturnErrorsOfReading(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, rule := range []string{
		`data.exists() || true`, `data.val() == null`, `data.getPriority() == null`, `!data.hasChildren()`,
	} {
		q := &Request{Op: OpRead, Path: tree.MustParsePath("rooms/r1"), Data: &trace{err: broken}}
		r := mustRules(t, rulesWith(".read", rule))
		if d, err := r.Check(t.Context(), q); d.Allow || !errors.Is(err, broken) {
			t.Errorf("%s: %v, %v, want %v", rule, d, err, broken)
		}
		if x, err := r.Explain(t.Context(), q); x != nil || !errors.Is(err, broken) {
			t.Errorf("%s: Explain = %v, %v, want %v", rule, x, err, broken)
		}
	}
}

func TestAuthThatIsNoJSON(t *testing.T) {
	for _, auth := range []Auth{{JSON: "{"}, NewAuth("{")} {
		if readAt(t, `auth.uid == null || true`, &Request{Auth: auth}) {
			t.Errorf("%+v is allowed", auth)
		}
		if !readAt(t, `auth != null`, &Request{Auth: auth}) {
			t.Errorf("%+v is signed out", auth)
		}
	}
}

func TestNewAuth(t *testing.T) {
	a := NewAuth(`{"uid":"ann","token":{"x":[1, 2]},"Token":3}`)
	if a.UID != "ann" || a.Token != `{"x":[1, 2]}` || a.IsNull() {
		t.Errorf("NewAuth = %+v", a)
	}
	for _, text := range []string{"", "null"} {
		if a := NewAuth(text); !a.IsNull() {
			t.Errorf("NewAuth(%q) = %+v", text, a)
		}
	}
}

// One Ruleset serves all goroutines at once.
func TestConcurrentChecks(t *testing.T) {
	r, q := memberRead(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			own := *q
			for range 200 {
				if d, err := r.Check(t.Context(), &own); err != nil || !d.Allow {
					t.Errorf("%v, %v", d, err)
				}
				if x, err := r.Explain(t.Context(), &own); err != nil || !x.Allow {
					t.Errorf("Explain: %v, %v", x, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestRules(t *testing.T) {
	r := mustRules(t, "{\"rules\":{\n \"b\":{\".write\":\"\\u0061uth\\n != null\"},\".read\":false}}")
	var got []string
	for rule := range r.Rules() {
		got = append(got, fmt.Sprint(rule.Path, " ", rule.Kind, " ", rule.Pos, " ", rule.Expr, " ", rule.At(len(rule.Source))))
	}
	want := "[/b/.write .write 2:16 auth != null 2:36 /.read .read 2:47 false 2:52]"
	if fmt.Sprint(got) != want {
		t.Errorf("Rules() = %v, want %s", got, want)
	}
}

// Numbers are printed as JavaScript prints them.
func TestNumbersAsText(t *testing.T) {
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1.5, 1e20, 1e21, 1.5e300, 1e-6, 1e-7, 1.25e-9, 123456789012345680000, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		rule := fmt.Sprintf("'' + auth.f == '%s'", jsNumber(f))
		if !readAt(t, rule, &Request{Auth: NewAuth(fmt.Sprintf(`{"f":%g}`, f))}) {
			t.Errorf("%g: %s is not true", f, rule)
		}
	}
	for _, rule := range []string{"'' + 1 / 0 == 'NaN'", "'' + 1e308 * 10 == 'Infinity'", "'' + -1e308 * 10 == '-Infinity'"} {
		if !readAt(t, rule, &Request{}) {
			t.Errorf("%s is not true", rule)
		}
	}
}
