package sync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
)

// TestTaskBudget: all decisions of one task of the committer have one budget: those about
// the server values that a write returns, and about the condition of what a session left.
func TestTaskBudget(t *testing.T) {
	tier.Unraced(t)
	const costly = "root.child('big').val().contains('y')" // reads and scans 9 MiB of 64
	source := fmt.Sprintf(`{"rules":{"n":{".write":true,"$k":{".read":%q}},"gate":{".read":%q},"left":{".write":%q}}}`,
		costly, costly, strings.Repeat(costly+" && ", 4)+costly)
	for name, o := range map[string]Options{"plain": {}, "observed": {Observer: &noter{wants: everything}}} {
		t.Run(name, func(t *testing.T) {
			if name == "plain" {
				tier.Need(t, tier.Full)
			}
			o.Rules = parseRules(t, source)
			db := openTest(t, o)
			set(t, db, "/big", `"`+strings.Repeat("x", 9<<20)+`y"`)

			var increments []string
			for i := range 10 {
				increments = append(increments, fmt.Sprintf(`"k%d":{".sv":{"increment":1}}`, i))
			}
			w := asUser(updateOf(t, "/n", "{"+strings.Join(increments, ",")+"}"))
			w.Returns = true
			for range 2 { // the next task has its own
				c, err := db.Write(t.Context(), w)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(c.Returned); n != 3 {
					t.Errorf("%d of 10 server values were returned, want 3: the budget of one task", n)
				}
			}

			// The decision about the write alone would fit into the budget.
			db.rules.Store(rules.Open())
			set(t, db, "/gate", "1")
			a := connect(t, db, "a", 0)
			a.send(`{"r":1,"a":"om","b":{"p":"/","d":{"left":1},"if":{"p":"gate","d":1}}}`)
			a.send(`{"r":2,"a":"o","b":{"p":"/left2","d":1}}`)
			a.settle()
			if err := db.SetRules(t.Context(), parseRules(t, strings.Replace(source, `"left":`, `"left2":{".write":true},"left":`, 1))); err != nil {
				t.Fatal(err)
			}
			a.session.Close()
			want(t, db, "/left2", "1")
			want(t, db, "/left", "null")
		})
	}
}
