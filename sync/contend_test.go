package sync

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
)

// A rival writes something else each time that a write at a path was decided outside of the committer.
type rival struct {
	path      string
	decisions int
	write     func(decision int)
}

func (r *rival) Wants(_ *rules.Ruleset, q *rules.Request, _ rules.Decision) bool {
	if q.Op == rules.OpWrite && q.Path.String() == r.path {
		if r.decisions++; r.decisions <= largeTries {
			r.write(r.decisions)
		}
	}
	return false
}

func (*rival) Decided(*rules.Ruleset, *rules.Request, *rules.Trace) string { return "" }

// TestContendedWrites: a write from which not much follows takes effect, however often others change
// what it depends on. One from which much follows, or from the last time on, ends as contended.
func TestContendedWrites(t *testing.T) {
	tier.Unraced(t)
	members := func(n int) string {
		var group strings.Builder
		for i := range n {
			fmt.Fprintf(&group, `,"u%d":true`, i)
		}
		return `{` + group.String()[1:] + `}`
	}
	const inverse = `"inverse": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"}`
	many := members(mostWithin + 1)
	for _, c := range []struct {
		name, before, last string
		contended          bool
		decisions          int
	}{
		{"a few hundred places", members(300), members(1), false, largeTries + 1},
		{"many places", many, members(1), true, largeTries},
		{"many places in the end", members(300), many, true, largeTries}, // declared data refuse it before the rules are asked
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &rival{path: "/groups"}
			db := openTest(t, Options{Observer: r, Rules: parseRules(t, `{"rules":{".read":true,".write":"now > 0"}}`)})
			declare(t, db, inverse)
			set(t, db, "/groups/a/members", c.before)
			r.write = func(decision int) {
				set(t, db, fmt.Sprintf("/groups/b%d/members/v", decision), "true")
				if decision == largeTries {
					set(t, db, "/groups/c/members", c.last)
				}
			}
			_, err := db.Write(t.Context(), asUser(putOf(t, "/groups", `{"z":{"members":{"u0":true}}}`)))
			if c.contended != errors.Is(err, fault.ErrContended) || !c.contended && err != nil {
				t.Fatal(err)
			}
			if r.decisions != c.decisions {
				t.Errorf("%d decisions, want %d", r.decisions, c.decisions)
			}
			if !c.contended {
				want(t, db, "/", `{"groups":{"z":{"members":{"u0":true}}},"users":{"u0":{"groups":{"z":true}}}}`)
				return
			}
			want(t, db, "/groups/z", "null")
			want(t, db, "/users/v", `{"groups":{"b1":true,"b2":true,"b3":true,"b4":true,"b5":true}}`)
			if _, text := fault.Status(err); !strings.Contains(text, "try again") {
				t.Errorf("the answer is %q", text)
			}
		})
	}
}
