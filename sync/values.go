package sync

import "github.com/dogwooddb/dogwood/tree"

// MaxValues is how many values a write may have of whom the rules apply to. All writers
// wait while one is carried out, which takes some microseconds and half a kilobyte of
// memory for each value, however short it is.
const MaxValues = 1 << 20

// CheckValues returns a *LimitError if the JSON text of a write has more values than the
// caller may write at once. It is cheap, and meant for before the text is parsed.
func CheckValues(c Caller, text string) error {
	if !c.Admin && tree.HasMoreValues(text, MaxValues) {
		return &LimitError{BoundValues}
	}
	return nil
}
