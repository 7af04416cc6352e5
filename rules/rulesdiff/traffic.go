package rulesdiff

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// maxLine bounds a line of recorded traffic.
const maxLine = 64 << 20

// A Record is one decision that was recorded: a line of JSON.
type Record struct {
	Op     string          `json:"op"` // "read", "write" or "update"
	Path   string          `json:"path"`
	Auth   json.RawMessage `json:"auth"`
	Value  json.RawMessage `json:"value"`  // of a write
	Values json.RawMessage `json:"values"` // of an update, by path below Path
	Query  json.RawMessage `json:"query"`
	Now    *int64          `json:"now"`  // milliseconds
	Time   *time.Time      `json:"time"` // if there is no now
	Allow  *bool           `json:"allow"`
}

// Traffic is what Comparer.Traffic found out about a recording.
//
// Recorded operations are decided again, mostly on other data than at their
// time. So the old rules may give another verdict than the recorded one. Such
// operations are compared all the same and counted in Unlike, which tells how
// much the comparison is worth.
type Traffic struct {
	Records int

	// Unlike is how many verdicts the old rules do not give with the data at
	// hand. The more there are, the less the data are those of the recording.
	Unlike int
}

// Traffic compares recorded operations on the given data. name is the
// recording's, dataFile that of the data. Writes are not carried out, unless
// apply is set: then those that were allowed are, in their order.
func (c *Comparer) Traffic(ctx context.Context, name string, in io.Reader, world rulestest.World, dataFile string, apply bool) (Traffic, error) {
	var t Traffic
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		where := fmt.Sprintf("%s:%d", name, n)
		writes, err := c.record(ctx, &t, where, lines.Bytes(), world, dataFile)
		if err != nil {
			return t, fmt.Errorf("%s: %w", where, err)
		}
		if apply {
			world = world.After(writes)
		}
	}
	if err := lines.Err(); err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// record compares one recorded operation and returns what it wrote, if it was
// allowed.
func (c *Comparer) record(ctx context.Context, t *Traffic, where string, line []byte, world rulestest.World, dataFile string) ([]tree.ResolvedWrite, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, err
	}
	op, err := r.operation()
	if err != nil || op.Who.Admin {
		return nil, err
	}
	q, err := op.Request(world)
	if err != nil {
		return nil, err
	}
	t.Records++
	if err := c.compare(ctx, where, dataFile, op, q); err != nil {
		return nil, err
	}
	recorded := *q
	recorded.Children = nil // a record is of what the expressions decided
	d, err := c.Old.Check(ctx, &recorded)
	if err != nil {
		return nil, err
	}
	allowed := d.Allow
	if r.Allow != nil && *r.Allow != allowed {
		t.Unlike++
		allowed = *r.Allow
	}
	if !allowed {
		return nil, nil
	}
	return q.Writes, nil
}

// operation returns what was done.
func (r *Record) operation() (*rulestest.Op, error) {
	text := rulestest.OpText{Kind: r.Op, Path: r.Path, Query: string(r.Query)}
	switch {
	case r.Op == "write":
		text.Value = string(r.Value)
	case r.Op == "update":
		text.Value = string(r.Values)
	}
	if text.Query == "null" {
		text.Query = ""
	}
	op, err := text.Parse()
	if err != nil {
		return nil, err
	}
	switch {
	case r.Now != nil:
		op.Now = *r.Now
	case r.Time != nil:
		op.Now = r.Time.UnixMilli()
	}
	auth := "null"
	if r.Auth != nil {
		auth = string(r.Auth)
	}
	if op.Who, err = rulestest.ParseActor(auth); err != nil {
		return nil, err
	}
	return &op, nil
}
