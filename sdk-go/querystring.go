package dogwood

import (
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// String returns the place and the window for people to read, in the words of
// REST: /scores?orderBy="points"&limitToLast=3.
func (q Query) String() string {
	w := q.query
	var words []string
	if w.OrderBy != "" {
		words = append(words, "orderBy="+tree.OrderWords(w.OrderBy))
	}
	words = append(words, boundWords(w.Start, "startAt", "startAfter")...)
	words = append(words, boundWords(w.End, "endAt", "endBefore")...)
	if w.Limit > 0 {
		name := "limitToFirst="
		if w.FromLast {
			name = "limitToLast="
		}
		words = append(words, name+strconv.Itoa(w.Limit))
	}
	if f, ok := w.Filter.(filter); ok {
		words = append(words, "where="+f.text)
		if f.most > 0 {
			words = append(words, "maxVisited="+strconv.Itoa(f.most))
		}
	}
	if q.descending {
		words = append(words, "descending=true")
	}
	if len(words) == 0 {
		return q.path.String()
	}
	return q.path.String() + "?" + strings.Join(words, "&")
}

// MarshalText is String. So a log has the path. Without it, a Ref that is written by
// mistake would be an empty object, and remove the data at its path.
func (q Query) MarshalText() ([]byte, error) { return []byte(q.String()), q.check() }

// boundWords returns what one side of a range is in words, none for none.
func boundWords(b tree.Bound, inclusive, exclusive string) []string {
	if !b.Set {
		return nil
	}
	name := inclusive
	if b.Exclusive {
		name = exclusive
	}
	text := name + "=" + b.Value.JSON()
	if b.KeyRank == tree.AtKey {
		text += "," + strconv.Quote(b.Key)
	}
	return []string{text}
}
