package rules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

func TestReads(t *testing.T) {
	signedIn := NewAuth(`{"uid":"ann"}`)
	data := stored{tree.MustParseNode(`{"members":{"r1":{"ann":true}},"open":true,"p":{".priority":1,".value":2}}`)}
	for _, c := range []struct {
		rule string
		auth Auth
		want Reads
	}{
		{`true`, signedIn, Reads{}},
		{`true || auth.uid == 'x' && root.child('a').exists()`, signedIn, Reads{}},
		{`auth != null`, signedIn, Reads{Auth: AuthNull}},
		{`null == auth`, Auth{}, Reads{Auth: AuthNull}},
		{`auth.uid == 'ann'`, signedIn, Reads{Auth: AuthFull}},
		{`auth.uid == null`, Auth{}, Reads{Auth: AuthFull}},
		{`(true ? auth : null) != null`, signedIn, Reads{Auth: AuthFull}},
		{`auth == null || auth.uid == 'ann'`, Auth{}, Reads{Auth: AuthNull}},
		{`now > 5`, signedIn, Reads{Now: true}},
		{`root.child('open').val() == true`, signedIn, Reads{Paths: paths("open")}},
		{`root.child('members').child($room).hasChild('ann')`, signedIn, Reads{Paths: paths("members/r1/ann"), Exists: paths("members/r1/ann")}},
		{`root.child('members/' + $room).hasChildren(['ann'])`, signedIn, Reads{Paths: paths("members/r1/ann"), Exists: paths("members/r1/ann")}},
		{`root.child('members').hasChildren()`, signedIn, Reads{Paths: paths("members")}},
		{`root.child('p').getPriority() == 1 && data.parent().parent().child('open').isBoolean()`, signedIn, Reads{Paths: paths("open", "p")}},
		{`!data.exists()`, signedIn, Reads{Paths: paths("rooms/r1"), Exists: paths("rooms/r1")}},
		{`root.child('open').exists() && root.child('open').val() == true && root.child('p').exists()`, signedIn, Reads{Paths: paths("open", "p"), Exists: paths("p")}},
		{`!root.child('a.b').exists()`, signedIn, Reads{}},
	} {
		reads := Reads{Paths: paths("left", "over"), Auth: AuthFull, Now: true}
		r := mustRules(t, rulesWith(".read", c.rule))
		q := &Request{Op: OpRead, Path: tree.MustParsePath("rooms/r1/x"), Auth: c.auth, Data: data, Now: time.UnixMilli(testNow), Reads: &reads}
		for range 2 { // the second time nothing need be read
			if d := check(t, r, q); !d.Allow {
				t.Errorf("%s: denied", c.rule)
			}
			if fmt.Sprint(reads) != fmt.Sprint(c.want) {
				t.Errorf("%s: reads %v, want %v", c.rule, reads, c.want)
			}
		}
	}
}

func paths(list ...string) (p []tree.Path) {
	for _, s := range list {
		p = append(p, tree.MustParsePath(s))
	}
	return p
}

func TestReadsAreOfTheGrantingRule(t *testing.T) {
	r := mustRules(t, `{"rules":{".read":"auth.uid == 'x' || now == 1 || root.child('a').exists()",
		"open":{".read":true}, "shut":{".read":"auth == null || data.exists()"}}}`)
	var reads Reads
	q := &Request{Op: OpRead, Path: tree.MustParsePath("open"), Auth: NewAuth(`{"uid":"ann"}`), Data: stored{}, Reads: &reads}
	if d := check(t, r, q); !d.Allow || !reflect.DeepEqual(reads, Reads{}) {
		t.Errorf("read of /open: %v depends on %v, want on nothing", d, reads)
	}
	q.Path = tree.MustParsePath("shut")
	if d := check(t, r, q); d.Allow || !reflect.DeepEqual(reads, Reads{Auth: AuthFull, Now: true}) {
		t.Errorf("read of /shut: %v depends on %v, want on all of the caller and the time", d, reads)
	}
}

func TestReadsAreBounded(t *testing.T) {
	var names []string
	data := tree.Empty
	for i := range MaxReads + 1 {
		name := fmt.Sprintf("g%d/k%d", i%7, i)
		names = append(names, "'"+name+"'")
		data = data.With(tree.MustParsePath(name), tree.Bool(true))
	}
	r := mustRules(t, `{"rules":{".read":"root.hasChildren([`+strings.Join(names, ",")+`])"}}`)
	var reads Reads
	q := &Request{Op: OpRead, Data: stored{data}, Reads: &reads}
	if d := check(t, r, q); !d.Allow || len(reads.Paths) != 7 {
		t.Errorf("%v with %d paths, want 7", d, len(reads.Paths))
	}
}

// As long as nothing changes that a decision is said to depend on, it stays.
func TestReadsSuffice(t *testing.T) {
	tried := 0
	for seed := uint64(0); tried < 10_000; seed++ {
		m := newMaker(seed)
		src, _ := m.rules()
		r, err := ParseWith(src, ParseOptions{Extensions: lang.Extensions{NewRoot: true}})
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, src, err)
		}
		for range 20 {
			var reads Reads
			q := m.request()
			if q.Reads = &reads; q.Op != OpRead {
				continue
			}
			before := check(t, r, q)
			for range 5 {
				other := *q
				other.Reads = nil
				if !m.varyRequest(&other, before.Allow, reads) {
					continue
				}
				tried++
				if after := check(t, r, &other); after.Allow != before.Allow {
					t.Fatalf("seed %d: %v, then %v; depends on %v\n%s\n%s\n%s", seed, before, after, reads, src, describe(q), describe(&other))
				}
			}
		}
	}
}

// varyRequest changes what a decision doesn't depend on, if there is anything.
func (m maker) varyRequest(q *Request, allowed bool, reads Reads) (changed bool) {
	if !reads.Now {
		q.Now, changed = q.Now.Add(time.Hour), true
	}
	auth := m.auth()
	if reads.Auth == AuthUnused || reads.Auth == AuthNull && auth.IsNull() == q.Auth.IsNull() {
		q.Auth, changed = auth, true
	}
	if !allowed { // no paths were noted
		return changed
	}
	p, was := m.path(3), q.Data.(stored)
	is := stored{was.With(p, m.data(2))}
	for _, noted := range reads.Paths {
		if !noted.Contains(p) && !p.Contains(noted) {
			continue
		}
		if !slices.Contains(reads.Exists, noted) || was.Node.Get(noted).IsEmpty() != is.Node.Get(noted).IsEmpty() {
			return changed
		}
	}
	q.Data = is
	return true
}
