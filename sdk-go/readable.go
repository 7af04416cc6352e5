package dogwood

import (
	"context"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// maxReadable is how many children a server lists in one page of those that may be read.
const maxReadable = 1000

// Readable yields those children that the client may read, in the order of their keys, where
// it may not read the place as a whole. It reads a page of them at a time. To follow
// them, keep an index by declared data and listen to that. An error is the last thing that
// it yields: ErrUnsupported if the server has no such listing.
func (r Ref) Readable(ctx context.Context) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		for n, err := range r.readable(ctx, false) {
			if err != nil {
				yield(Snapshot{ref: r}, r.failed("readable", err))
				return
			}
			for key, child := range n.Children() {
				if !yield(Snapshot{ref: r.Child(key), node: child}, nil) {
					return
				}
			}
		}
	}
}

// ReadableKeys is Readable for the keys alone.
func (r Ref) ReadableKeys(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for n, err := range r.readable(ctx, true) {
			if err != nil {
				yield("", r.failed("readable", err))
				return
			}
			for key := range n.Children() {
				if !yield(key, nil) {
					return
				}
			}
		}
	}
}

// readable yields the pages.
func (r Ref) readable(ctx context.Context, shallow bool) iter.Seq2[tree.Node, error] {
	return func(yield func(tree.Node, error) bool) {
		limit := firstPage
		for next := ""; ; {
			n, after, err := r.readPage(ctx, ReadRequest{Readable: true, Shallow: shallow, Limit: limit, Next: next})
			if !yield(n, err) || err != nil || after == "" {
				return
			}
			next, limit = after, min(nextPage(limit, len(n.Text())), maxReadable)
		}
	}
}

// headerExtensions of an answer over REST names the parameters beyond those of Firebase that it is by.
const headerExtensions = "X-Dogwood-Extensions"

// A readPage is the answer to a ReadRequest that is Readable.
type readPage struct {
	io.ReadCloser
	next string
}

func (p readPage) Next() string { return p.next }

// page returns the body of a page, if the answer is by readable=true.
func page(resp *http.Response) (io.ReadCloser, error) {
	if !strings.Contains(resp.Header.Get(headerExtensions), "readable") {
		resp.Body.Close()
		return nil, ErrUnsupported
	}
	return readPage{resp.Body, resp.Header.Get("X-Dogwood-Next")}, nil
}
