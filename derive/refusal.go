package derive

import (
	"fmt"

	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/tree"
)

// A Reason is why a write is refused.
type Reason int

// The reasons.
const (
	KeptBy   Reason = iota // a client says something else about a target
	Taken                  // two source nodes would have one place
	TooLarge               // more would follow than one write may change
	Unread                 // this version refuses the document (ParseStored)
)

// A Refusal is a write that is not to be carried out. Its text names places that follow, which are
// not for all clients to know: a server tells it only to one that may write where it has written.
type Refusal struct {
	Reason     Reason
	Definition string    // its name; "" if the document is refused
	Path       tree.Path // a place or node; the root if expressions look at too much
	text       string
}

// Error returns the text for the client.
func (r *Refusal) Error() string { return r.text }

// kept refuses what a client says about a target.
func kept(d *Definition, p tree.Path) *Refusal {
	return &Refusal{KeptBy, d.Name, p, fmt.Sprintf("kept by the definition %q", d.Name)}
}

// taken refuses a second source node of a place.
func taken(d *Definition, p tree.Path) *Refusal {
	text := p.Clean() + " is taken"
	if !d.Unique {
		text = fmt.Sprintf("%s would have two values by the definition %q", p.Clean(), d.Name)
	}
	return &Refusal{Taken, d.Name, p, text}
}

// unread refuses a write that may meet a definition of a document that is refused.
func unread(c *Change) *Refusal {
	return &Refusal{Unread, "", c.Writes[0].Path, "this version of Dogwood refuses the data document of the database, and writes to what it is about; " +
		"put another one in force with dogwood data deploy or rollback, or run the version that accepted it"}
}

// Bounds of what follows from one write.
const (
	MaxChanges      = 10_000 // places that change
	MaxChangesAdmin = 1_000_000
	MaxBytes        = 16 << 20 // of their paths and values
	MaxBytesAdmin   = 256 << 20
	MaxText         = 256 << 10 // bytes of one text that an expression looks at; with a longer one it fails
)

// bounds are those of one write. Twice as many nodes may be looked at as may change. spent and steps
// are for all expressions of a write together: bytes of text, and steps of regular expressions.
// Each expression has the bounds of a rule, too, and MaxText.
//
// They bound the time of the committer, in which all other writes of the database wait. Nodes
// that lead to nothing count as looks for that reason: a removal above 100,000 containers without
// members seemed to touch nothing and took a second.
type bounds struct{ changes, looks, bytes, spent, steps int }

func boundsOf(admin bool) bounds {
	if admin {
		return bounds{MaxChangesAdmin, 2 * MaxChangesAdmin, MaxBytesAdmin, 16 * expression.MaxSpent, 16 * expression.MaxSteps}
	}
	return bounds{MaxChanges, 2 * MaxChanges, MaxBytes, expression.MaxSpent, expression.MaxSteps}
}

// within returns the bounds for fewer places, 0 for these bounds, and for fewer bytes of each kind, 0 for
// no fewer. For fewer places, those of bytes and steps are a client's at most: expiry and writes in
// the committer ask for few places because others wait, also if they are an administrator's.
func (b bounds) within(places, bytes int) bounds {
	if places != 0 {
		client := boundsOf(false)
		b = bounds{min(b.changes, places), min(b.looks, 2*places), min(b.bytes, client.bytes), min(b.spent, client.spent), min(b.steps, client.steps)}
	}
	if bytes != 0 {
		b.bytes, b.spent, b.steps = min(b.bytes, bytes), min(b.spent, bytes), min(b.steps, bytes/stepBytes)
	}
	return b
}

// stepBytes is how many bytes of text a step of a regular expression takes as long as.
const stepBytes = 8

// look counts a node that is looked at. It reports whether that is one too many.
func (r *run) look(d *Definition, p tree.Path) bool {
	if r.looked++; r.looked > r.bounds.looks {
		r.failed(r.tooLarge(d, p, "look at more than %s nodes for", r.bounds.looks))
	}
	return r.err != nil
}

// change counts a place that changes. It reports whether it may.
func (r *run) change(d *Definition, p tree.Path, n tree.Node) bool {
	r.changes++
	if r.changes > r.bounds.changes {
		r.failed(r.tooLarge(d, p, "change %s places kept by", r.wouldChange(d)))
	}
	if r.bytes += len(p.Clean()) + len(n.Text()); r.bytes > r.bounds.bytes {
		r.failed(r.tooLarge(d, p, "change more than %s bytes kept by", r.bounds.bytes))
	}
	return r.err == nil
}

// wouldChange returns how many places would change, those of later levels left out.
func (r *run) wouldChange(d *Definition) int {
	return max(r.changes, len(r.work[d.position].edits.list))
}

// tooLarge refuses a write by what would follow from it. The text names the written path that is
// most likely to blame, so that the client knows which part to make smaller: the one above p, or the
// first removal.
func (r *run) tooLarge(d *Definition, p tree.Path, would string, n int) *Refusal {
	verb, parts, at := "writing", "write it in parts", p
	if len(r.Writes) > 0 {
		at = r.Writes[0].Path
	}
	for _, w := range r.Writes {
		if w.Path.Contains(p) || w.Node.IsEmpty() {
			at = w.Path
			if w.Node.IsEmpty() {
				verb, parts = "removing", "remove its children in parts"
			}
			break
		}
	}
	text := fmt.Sprintf("%s %s would "+would+" %s; %s", verb, at, grouped(n), d.Name, parts)
	return &Refusal{TooLarge, d.Name, p, text}
}

// grouped returns a number with commas.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
