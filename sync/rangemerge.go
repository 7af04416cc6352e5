package sync

import (
	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// pushMerges returns the push that turns the view a client has into n, given
// the compound hash of what it has: only the ranges that differ are sent
// (protocol §8.3). It returns nil if the client sent no compound hash, or one
// that makes no sense; the whole view is right then.
func (l *Listener) pushMerges(n tree.Node, compound string) []byte {
	if compound == "" || len(n.Text()) > maxHashed {
		return nil
	}
	merges, err := n.RangeDiff(texts(compound, "ps"), texts(compound, "hs"))
	if err != nil || len(merges) == 0 { // none: only what compound hashes leave out differs
		return nil
	}
	data := []byte{'['}
	for i, m := range merges {
		if i > 0 {
			data = append(data, ',')
		}
		data = appendMerge(data, m)
	}
	data = append(data, ']')
	return wire.AppendPush(nil, wire.PushRangeMerge, l.read.Path.Clean(), data, l.shown.Tag)
}

func texts(object, name string) []string {
	var list []string
	for _, v := range gjson.Get(object, name).Array() {
		list = append(list, v.String())
	}
	return list
}

func appendMerge(dst []byte, m tree.RangeMerge) []byte {
	dst = append(dst, '{')
	if m.HasStart {
		dst = append(wire.AppendString(append(dst, `"s":`...), m.Start), ',')
	}
	if m.HasEnd {
		dst = append(wire.AppendString(append(dst, `"e":`...), m.End), ',')
	}
	dst = append(append(dst, `"m":`...), m.Value.JSON()...)
	return append(dst, '}')
}
