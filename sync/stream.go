package sync

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// MaxIncrements is how many increments the value of a Put may have.
const MaxIncrements = MaxPaths

// MayPut reports whether a write of an administrator to p may be a Put: nobody above p
// listens, who would be sent more than what is written.
func (d *Database) MayPut(p tree.Path) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for g := range d.hub.above(p) {
		if g.path != p {
			return false
		}
	}
	return true
}

// Put replaces the value at p by what src holds, as Import does, with the server values of
// any write. Timestamps are those of its beginning; increments add to the value that it
// replaces.
func (d *Database) Put(ctx context.Context, p tree.Path, src io.Reader) (done ImportResult, err error) {
	now, nonce := d.options.Now(), rand.Text()
	times, t := d.newLap(true), new(linkTask)
	o := store.LoadOptions{ServerValue: func(at tree.Target, v tree.Draft) tree.Node {
		if n, err := v.Resolve(now.UnixMilli(), noIncrement); err == nil {
			return n
		}
		mark := tree.String(fmt.Sprintf("increment %s %d", nonce, len(t.increments)))
		t.increments = append(t.increments, tree.Write{Target: at, Value: v})
		t.marks = append(t.marks, mark)
		return mark
	}}
	err = times.apply(func() error {
		done, err = t.run(ctx, d, p, &boundedIncrements{src, t}, o)
		return err
	})
	times.bytes = int(done.Bytes)
	times.finish(&Write{Caller: Admin, Base: p}, err)
	return done, err
}

// errIncrement is returned for a value that is to be added to.
var errIncrement = fmt.Errorf("an increment has to wait for what is there")

func noIncrement(tree.Path) (tree.Node, error) { return tree.Empty, errIncrement }

// boundedIncrements reads a text until that has too many increments.
type boundedIncrements struct {
	io.Reader
	task *linkTask
}

func (r *boundedIncrements) Read(p []byte) (int, error) {
	if len(r.task.increments) > MaxIncrements {
		return 0, &LimitError{BoundPaths}
	}
	return r.Reader.Read(p)
}

// put puts sums in the places of increments that still count: the last of equal keys does.
func (t *linkTask) put(b *batch, sums []tree.ResolvedWrite) error {
	for i, w := range sums {
		n, _, err := b.tx.Peek(w.Path)
		is, priority := n.Value(), n.Priority()
		if err == nil && w.Priority {
			is, err = b.tx.Priority(w.Path)
		} else {
			w.Node = w.Node.WithPriority(priority)
		}
		if err == nil && is == t.marks[i] {
			_, err = b.put(w, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
