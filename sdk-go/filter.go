package dogwood

import (
	"strconv"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// Where keeps those children of the query that make an expression of the rules language
// true: data.child('type').val() == 'public'. In it, data is the child and key is its key.
// A limit counts the children that match.
//
// The server decides what matches. So a view with a filter shows a write of this client once
// the server has carried it out, and not before. A server that has no filters
// fails a read or a listen with ErrUnsupported, and one that has to look at too many
// children with ErrTooBig.
func (q Query) Where(expression string) Query {
	switch {
	case expression == "":
		return q.fail("the filter is empty")
	case q.query.Filter != nil:
		return q.fail("it is filtered twice; join the filters by &&")
	}
	q.query.Filter = filter{text: expression}
	return q
}

// MaxVisited bounds how many children one read of a query with a filter may look at: 1 to
// 100,000. Without it, 10,000. It comes behind Where.
func (q Query) MaxVisited(n int) Query {
	f, ok := q.query.Filter.(filter)
	switch {
	case !ok:
		return q.fail("MaxVisited comes behind Where")
	case n < 1 || n > 100_000:
		return q.fail("MaxVisited takes 1 to 100000, and not %d", n)
	}
	f.most = n
	q.query.Filter = f
	return q
}

// A filter is that of a query as the client knows it: all that the server has sent matches.
type filter struct {
	text string
	most int // children that a read may look at; 0: as many as is usual
}

func (f filter) Text() string {
	if f.most == 0 {
		return f.text
	}
	return f.text + " " + strconv.Itoa(f.most)
}

func (f filter) Most() int { return f.most }

func (f filter) Needs() []tree.Need { return nil }

func (f filter) Match(tree.Reader, tree.Path, string, int) (bool, int, error) { return true, 0, nil }

// appendFilter appends the filter of a query, and a comma.
func appendFilter(dst []byte, q tree.Query) []byte {
	f, ok := q.Filter.(filter)
	if !ok {
		return dst
	}
	dst = append(appendString(append(dst, `"w":`...), f.text), ',')
	if f.most > 0 {
		dst = append(strconv.AppendInt(append(dst, `"wm":`...), int64(f.most), 10), ',')
	}
	return dst
}

// features names the extensions that a request needs: those given, and those of its query.
func (q Query) features(more string) string {
	if q.query.Filter != nil {
		more += wire.FeatureFilters
	}
	return more
}
