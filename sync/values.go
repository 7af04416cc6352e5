package sync

import (
	"errors"

	"github.com/dogwooddb/dogwood/tree"
)

// MaxValues is how many values a write may have of whom the rules apply to. Each takes
// half a kilobyte of memory meanwhile, however short it is.
const MaxValues = 1 << 20

// MaxPaths is how many paths one update may write, of callers that the rules apply to.
// They are written in one step, and all writers wait meanwhile.
const MaxPaths = 10_000

// CheckValues returns a *LimitError if the JSON text of a write has more values than the
// caller may write at once. It is cheap, and meant for before the text is parsed.
func CheckValues(c Caller, text string) error {
	if !c.Admin && tree.HasMoreValues(text, MaxValues) {
		return &LimitError{BoundValues}
	}
	return nil
}

// ParseUpdate reads an update of a caller, as tree.ParseUpdate does. The error is a
// *LimitError if the update has more paths than the caller may write at once; the rest of
// it is not read then.
func ParseUpdate(c Caller, base tree.Path, text string, d tree.Dialect) (tree.Update, error) {
	if c.Admin {
		return tree.ParseUpdate(base, text, d)
	}
	u, err := tree.ParseUpdateUpTo(base, text, d, MaxPaths)
	if e := (*tree.ParseError)(nil); errors.As(err, &e) && e.Kind == tree.TooManyPaths {
		return nil, &LimitError{BoundPaths}
	}
	return u, err
}

// checkPaths returns a *LimitError if a write has more paths than its caller may write at
// once.
func checkPaths(w Write) error {
	if !w.Caller.Admin && len(w.Update) > MaxPaths {
		return &LimitError{BoundPaths}
	}
	return nil
}
