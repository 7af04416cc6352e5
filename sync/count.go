package sync

import (
	"context"
	"fmt"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree/store"
)

// keepCountFrom is from how many children on, counted one by one, their number is
// worth to be kept.
const keepCountFrom = 1000

// Count returns how many children a read would show. It costs no more than a row
// without a range, and the keys or index entries in the range with one. The query
// must have no limit. Errors are those of Get.
func (d *Database) Count(ctx context.Context, r Read) (n int, err error) {
	began := d.operations.start()
	walked := 0
	r.childless = true
	err = d.view(ctx, r, func(tx *store.Tx) error {
		before := tx.Stats()
		n, err = tx.Count(r.Path, r.Query)
		walked = tx.Stats().Visited - before.Visited
		return err
	})
	d.reportRead(r, began, 0, err)
	if err == nil && walked >= keepCountFrom && r.Query.IsAll() {
		// In a file of an older version it is not kept. The caller has the answer already.
		if err := d.store.KeepCount(r.Path, ctx.Err); err != nil && ctx.Err() == nil && !d.closed.Load() {
			d.log.Warn("a number of children could not be kept", "database", d.store.String(), "path", r.Path, "err", err)
		}
	}
	return n, err
}

// errCountLimit is the error of a count that has a limit.
var errCountLimit = fmt.Errorf("%w: a count has no limit", errQuery)

// count answers with the number of children that a get would show. Like that it sees
// the earlier writes of its session.
func (s *Session) count(ctx context.Context, r wire.Request) error {
	v, err := readView(r)
	if err == nil && v.query.Limit > 0 {
		err = errCountLimit
	}
	if err != nil {
		return err
	}
	s.out.PushLater(v.size(), func() [][]byte {
		read := v.read(s.as())
		read.OneShot = true
		n, err := s.db.Count(ctx, read)
		if err != nil {
			return [][]byte{s.failure(v.id, err)}
		}
		return [][]byte{wire.AppendOK(nil, v.id, fmt.Sprintf(`{"n":%d}`, n))}
	})
	return nil
}
