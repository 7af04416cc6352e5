package dogwood

import (
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

func appendString(dst []byte, s string) []byte { return wire.AppendString(dst, s) }

// encodeQuery returns the query object of the protocol (protocol §5.2), ""
// for all children, in whatever order: that is for the client to sort out.
func encodeQuery(q tree.Query) string {
	if q.IsAll() {
		return ""
	}
	b := appendBound([]byte{'{'}, q, q.Start, 's')
	b = appendBound(b, q, q.End, 'e')
	if q.Limit > 0 {
		b = append(b, `"l":`...)
		b = strconv.AppendInt(b, int64(q.Limit), 10)
		if b = append(b, `,"vf":"l",`...); q.FromLast {
			b = append(b[:len(b)-len(`l",`)], `r",`...)
		}
	}
	if q.Order() != tree.ByPriority {
		b = append(appendOrder(append(b, `"i":`...), q.Order()), ',')
	}
	b = appendFilter(b, q)
	b[len(b)-1] = '}'
	return string(b)
}

// appendOrder appends the name of an order, or its list of child paths.
func appendOrder(dst []byte, order string) []byte {
	if tree.IsListOrder(order) {
		return append(dst, order...)
	}
	return appendString(dst, order)
}

// appendBound appends what says where one side of the range is, and a comma.
func appendBound(dst []byte, q tree.Query, b tree.Bound, side byte) []byte {
	if !b.Set {
		return dst
	}
	dst = append(append(dst, '"', side), `p":`...)
	dst = append(append(dst, b.Value.JSON()...), ',')
	if name := keyName(b, side); name != "" && q.Order() != tree.ByKey {
		dst = append(append(dst, '"', side), `n":`...)
		dst = append(appendString(dst, name), ',')
	}
	dst = append(append(dst, '"', side), `in":`...)
	return append(strconv.AppendBool(dst, !b.Exclusive), ',')
}

// keyName returns the key of a bound as the protocol says it, "" for what is
// understood anyway.
func keyName(b tree.Bound, side byte) string {
	switch {
	case b.KeyRank == tree.AtKey:
		return b.Key
	case b.KeyRank == tree.BeforeKeys && side == 'e':
		return "[MIN_NAME]"
	case b.KeyRank == tree.AfterKeys && side == 's':
		return "[MAX_NAME]"
	}
	return ""
}

// sameQuery reports whether two query objects are the same but for the order of
// their members.
func sameQuery(a, b string) bool {
	if a == b {
		return true
	}
	x, xerr := tree.Parse(a, 0, tree.Lenient)
	y, yerr := tree.Parse(b, 0, tree.Lenient)
	if a == "" || b == "" || xerr != nil || yerr != nil || x.Text() != y.Text() {
		return false
	}
	// Trees have no null at the end of a list.
	var v, w any
	return json.Unmarshal([]byte(a), &v) == nil && json.Unmarshal([]byte(b), &w) == nil && reflect.DeepEqual(v, w)
}
