package observe

import (
	"cmp"
	"slices"

	"github.com/dogwooddb/dogwood/sync/declared"
)

// A TopDefinition is what a definition of a data document did, in each second.
type TopDefinition struct {
	Namespace  string  `json:"namespace"`
	Definition string  `json:"definition"`
	Touches    float64 `json:"touches"` // nodes of its source that came, changed or went
	Writes     float64 `json:"writes"`  // places that changed because of them
	Skipped    float64 `json:"skipped"` // nodes that did not match because an expression failed
	Share      float64 `json:"share"`   // of the time, to compute what follows
}

// definitionsShown is how many definitions a view has.
const definitionsShown = 15

type definitionKey struct{ namespace, name string }

// definitions returns those that writes touched since last, the most costly ones first.
func (c topCounts) definitions(last topCounts, seconds float64) []TopDefinition {
	list := []TopDefinition{}
	for key, now := range c.activities {
		before := last.activities[key]
		if now.Touches < before.Touches { // the database was closed and opened again
			before = declared.Activity{}
		}
		if seconds == 0 || now.Touches == before.Touches {
			continue
		}
		list = append(list, TopDefinition{key.namespace, key.name,
			float64(now.Touches-before.Touches) / seconds, float64(now.Writes-min(now.Writes, before.Writes)) / seconds,
			float64(now.Skipped-min(now.Skipped, before.Skipped)) / seconds, max(now.Seconds-before.Seconds, 0) / seconds})
	}
	slices.SortFunc(list, func(a, b TopDefinition) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Definition, b.Definition))
	})
	return list[:min(len(list), definitionsShown)]
}
