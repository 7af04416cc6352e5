package invariant

import (
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/tree"
)

// maxTally bounds how many counters are kept in memory at a time, and maxTallyBytes
// what their paths and keys take.
const (
	maxTally      = 1 << 16
	maxTallyBytes = 16 << 20
)

func (d *definition) validCount() error {
	switch {
	case d.Counter.has(field) || d.Over.has(field):
		return errors.New("count has no {} in its patterns")
	case d.Where != nil && !d.Where.Equals.IsEmpty():
		return errors.New(`where has no "equals" in a count`)
	case d.Where != nil && !d.Counter.binds(d.Where.EqualsVar):
		return fmt.Errorf("%s is not in %q", d.Where.EqualsVar, d.Counter.text)
	}
	return nil
}

func (d *definition) count(s *scan) error {
	if d.Where != nil && !d.Over.shares(d.Counter) {
		return d.countTogether(s)
	}
	return s.each(d.Counter, nil, func(m match) error {
		n := 0
		err := s.each(d.Over, m.vars, func(o match) error {
			counts, err := d.counts(o, m)
			if counts {
				n++
			}
			return err
		})
		if err != nil {
			return err
		}
		return d.compareCount(s, m.path, d.counted(m.vars), n)
	})
}

// counts reports whether a node counts for a counter.
func (d *definition) counts(o, m match) (bool, error) {
	if d.Where == nil {
		return true, nil
	}
	v, err := o.value(o.path.Join(d.Where.Child.Path))
	key, _ := m.key(d.Where.EqualsVar)
	return v.leaf == tree.String(key), err
}

// compareCount reports a counter that is not n.
func (d *definition) compareCount(s *scan, at tree.Path, over string, n int) error {
	is, err := s.value(at)
	if err == nil && is.leaf != tree.Number(float64(n)) {
		s.broken(at, "%s is %s and there are %d of %s", at, is, n, over)
	}
	return err
}

// A tally counts for many counters in one walk, since each of them would have to
// look at all nodes alone.
//
// It turns a walk for each counter into one walk for up to limit counters: with a million
// nodes and a thousand counters that is a thousand times less. The bounds are those of
// the memory of a check, and beyond them the nodes are simply walked again.
type tally struct {
	limit    int // of counters
	counters []counter
	counts   map[string]int // by the key that the nodes have to have
	bytes    int            // of paths and keys
}

// A counter is where a count is kept, and the key that the counted nodes have.
type counter struct {
	path tree.Path
	key  string
}

func (d *definition) countTogether(s *scan) error {
	t := tally{limit: s.tally, counts: make(map[string]int)}
	err := s.each(d.Counter, nil, func(m match) error {
		key, _ := m.key(d.Where.EqualsVar)
		if t.add(m.path, key) {
			return nil
		}
		if err := d.take(s, &t); err != nil {
			return err
		}
		t.add(m.path, key)
		return nil
	})
	if err != nil {
		return err
	}
	return d.take(s, &t)
}

// add notes a counter, unless the tally is full.
func (t *tally) add(p tree.Path, key string) bool {
	size := len(p.Clean()) + len(key)
	if len(t.counters) > 0 && (len(t.counters) >= t.limit || t.bytes+size > maxTallyBytes) {
		return false
	}
	t.counters = append(t.counters, counter{p, key})
	t.counts[key] = 0
	t.bytes += size
	return true
}

// take counts for the counters of a tally, reports those that are wrong, and
// empties it.
func (d *definition) take(s *scan, t *tally) error {
	if len(t.counters) == 0 {
		return nil
	}
	err := s.each(d.Over, nil, func(o match) error {
		v, err := s.value(o.path.Join(d.Where.Child.Path))
		key, isString := v.leaf.StringValue()
		if _, wanted := t.counts[key]; isString && wanted {
			t.counts[key]++
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range t.counters {
		over := d.counted([]binding{{d.Where.EqualsVar, c.key}})
		if err := d.compareCount(s, c.path, over, t.counts[c.key]); err != nil {
			return err
		}
	}
	t.counters, t.bytes = t.counters[:0], 0
	clear(t.counts)
	return nil
}

// counted says for a report what is counted.
func (d *definition) counted(vars []binding) string {
	text := ""
	for _, seg := range d.Over.segments {
		key, known := seg.key(vars)
		if !known {
			key = seg.String()
		}
		text += "/" + key
	}
	if d.Where != nil {
		key, _ := lookUp(vars, d.Where.EqualsVar)
		text += fmt.Sprintf(" whose %s is %s", d.Where.Child.Clean(), tree.String(key).JSON())
	}
	return text
}
