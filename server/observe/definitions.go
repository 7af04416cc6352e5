package observe

import (
	"sort"

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

// definitions returns those that writes touched since last, the most costly ones first.
func (c topCounts) definitions(last topCounts, seconds float64) []TopDefinition {
	list := []TopDefinition{}
	rate := func(now, before uint64) float64 { return float64(now-before) / seconds }
	for namespace, all := range c.activities {
		for name, now := range all {
			before := last.activities[namespace][name]
			if now.Touches < before.Touches || now.Writes < before.Writes || now.Skipped < before.Skipped { // the database was closed and opened again
				before = declared.Activity{}
			}
			if seconds > 0 && now.Touches > before.Touches {
				list = append(list, TopDefinition{namespace, name, rate(now.Touches, before.Touches), rate(now.Writes, before.Writes),
					rate(now.Skipped, before.Skipped), (now.Seconds - before.Seconds) / seconds})
			}
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Share > list[j].Share })
	return list[:min(len(list), definitionsShown)]
}
