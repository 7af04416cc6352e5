package rulesdiff

import (
	"context"

	"github.com/dogwooddb/dogwood/rules/rulesgen"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// maxActors bounds who acts in operations that are made up.
const maxActors = 12

// Generated compares operations that are made up from what the rules mention:
// their paths and the keys of the data, the given actors and others, and values
// around the literals. It asks about at most limit operations, the same number
// for each node of the rules. A node with many captures would otherwise use up
// the limit before the others are asked about.
func (c *Comparer) Generated(ctx context.Context, world rulestest.World, dataFile string, actors []rulestest.Actor, now int64, limit int) error {
	w := rulesgen.NewWords(c.Old, c.New)
	for _, a := range w.Actors() {
		if len(actors) < maxActors {
			actors = a.AddTo(actors)
		}
	}
	share := limit / max(len(w.Nodes()), 1)
	for _, pattern := range w.Nodes() {
		if err := c.generated(ctx, w.Operations(pattern, world, now), world, dataFile, actors, share); err != nil {
			return err
		}
	}
	return nil
}

// generated compares operations by each actor, at most limit.
func (c *Comparer) generated(ctx context.Context, ops []rulestest.Op, world rulestest.World, dataFile string, actors []rulestest.Actor, limit int) error {
	for _, op := range ops {
		for _, who := range actors {
			if limit--; limit < 0 {
				return nil
			}
			op.Who = who
			q, err := op.Request(world)
			if err != nil {
				continue // an increment of what is no number
			}
			if err := c.compare(ctx, generated, dataFile, &op, q); err != nil {
				return err
			}
		}
	}
	return nil
}
