package declared

import (
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// checkExpire compares the times at which nodes expire. Of a definition that counts from the last write it is not
// known when that was, so any time will do. A node without a time is right if it was due and stayed, as it does where
// another definition keeps it.
func (c *checker) checkExpire(now time.Time) error {
	return c.all(false, func(nodes []tree.Path) error {
		due, err := c.def.Dues(c.before(), nodes)
		for i, p := range nodes {
			if err == nil {
				err = c.checkDue(p, due[i], now.UnixMilli())
			}
		}
		return err
	})
}

// checkDue compares the time of one node with what follows: 0 for never, derive.Unknown for any.
func (c *checker) checkDue(p tree.Path, want, now int64) error {
	t, err := store.Kept(c.tx).Timer(c.states[c.def].ID, p)
	got := time.UnixMilli(t.Due).UTC().Format(time.RFC3339Nano)
	switch {
	case err != nil || t.Due == want:
		return err
	case want == 0 && t.Due > now: // one that is removed in parts may have lost what says its time
		c.report("%s expires at %s, and nothing follows", p, got)
	case want == 0:
	case t.Due == 0 && (want > now || want == derive.Unknown && !c.keptByOthers(p)):
		c.report("%s has no time to expire at", p)
	case t.Due != 0 && want != derive.Unknown && (t.Due < want || want > now): // one that is removed in parts comes later
		c.report("%s expires at %s, and %s follows", p, got, time.UnixMilli(want).UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// keptByOthers reports whether a node may stay that is due.
func (c *checker) keptByOthers(p tree.Path) bool {
	return slices.ContainsFunc(c.document.Definitions(), func(def *derive.Definition) bool { return def != c.def && def.MayMeet(p) })
}
