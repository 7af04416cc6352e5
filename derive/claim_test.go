package derive_test

import (
	"slices"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/tree"
)

// vanished returns a target of writes that rules are not asked about, as it is not part of a result. One that
// says of a place what follows may be part of the write of that place.
func vanished(list []naive, writes []tree.ResolvedWrite, r *derive.Result) string {
	if r.Unkept != nil {
		r = r.Unkept
	}
	for _, w := range writes {
		there := slices.ContainsFunc(r.Writes, func(o tree.ResolvedWrite) bool { return o.Target == w.Target })
		if !there && !slices.ContainsFunc(list, func(d naive) bool {
			keys := slices.Collect(w.Path.Keys())
			return d.target != nil && len(keys) > len(d.target) && d.concerns(keys)
		}) {
			return w.Target.String()
		}
	}
	return ""
}
