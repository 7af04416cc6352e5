package dogwood

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// Sizes of the pages that Children and Keys read.
const (
	firstPage   = 8 // of children that may be large, though most are not
	maxChildren = 4096
	maxKeys     = 1000
	pageBytes   = 1 << 20 // that Children aims for
	maxPage     = 256 << 20
)

// GetTo writes the value as JSON in export form to w as it arrives, however
// large it is, and returns how many bytes that were. Nothing of it is kept in
// memory. It is a read of its own: writes that are not answered are not seen.
func (r Ref) GetTo(ctx context.Context, w io.Writer) (int64, error) {
	var n int64
	err := r.read(ctx, ReadRequest{}, func(body io.Reader) (err error) {
		n, err = io.Copy(w, cutReader{body})
		return err
	})
	return n, r.failed("get", err)
}

// Children yields the children in the order of their keys, however many there
// are: it reads a page of them at a time, so memory holds no more than that.
// It may or may not see changes that are made meanwhile. An error is the last
// thing that it yields: ErrTooBig for a child that alone is more than the server reads.
func (r Ref) Children(ctx context.Context) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		limit := firstPage
		for after := ""; ; {
			n, err := r.page(ctx, ReadRequest{After: after, Limit: limit})
			if isTooLong(err, limit) {
				limit /= 2
				continue
			}
			if err != nil {
				yield(Snapshot{ref: r}, r.failed("children", err))
				return
			}
			for key, child := range n.Children() {
				if !yield(Snapshot{ref: r.Child(key), node: child}, nil) {
					return
				}
				after = key
			}
			if n.NumChildren() < limit {
				return
			}
			limit = nextPage(limit, len(n.Text()))
		}
	}
}

// isTooLong reports whether a page with fewer children may be read where one with so many
// failed.
func isTooLong(err error, limit int) bool { return limit > 1 && errors.Is(err, ErrTooBig) }

// nextPage returns how many children to read next, when the last ones were of a
// size.
func nextPage(limit, size int) int {
	switch {
	case size > pageBytes:
		return max(1, limit/2)
	case size < pageBytes/4:
		return min(2*limit, maxChildren)
	}
	return limit
}

// Keys yields the keys of the children in order, however many there are. Their values
// are not read. An error is the last thing that it yields: ErrInvalid if
// the server is not one of Dogwood and has no pages of keys.
func (r Ref) Keys(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for after := ""; ; {
			n, err := r.page(ctx, ReadRequest{Shallow: true, After: after, Limit: maxKeys})
			if err != nil {
				yield("", r.failed("keys", err))
				return
			}
			for key := range n.Children() {
				if !yield(key, nil) {
					return
				}
				after = key
			}
			if n.NumChildren() < maxKeys {
				return
			}
		}
	}
}

// page reads some of the children.
func (r Ref) page(ctx context.Context, req ReadRequest) (n tree.Node, err error) {
	err = r.read(ctx, req, func(body io.Reader) (err error) {
		n, err = readPageOf(body)
		return err
	})
	return n, err
}

// readPage reads some of the children that may be read, and returns where the next page begins.
func (r Ref) readPage(ctx context.Context, req ReadRequest) (n tree.Node, next string, err error) {
	err = r.read(ctx, req, func(body io.Reader) (err error) {
		p, ok := body.(ReadPage)
		if !ok {
			return ErrUnsupported
		}
		next = p.Next()
		n, err = readPageOf(body)
		return err
	})
	return n, next, err
}

func readPageOf(body io.Reader) (tree.Node, error) {
	var text bytes.Buffer
	switch n, err := text.ReadFrom(io.LimitReader(cutReader{body}, maxPage+1)); {
	case err != nil:
		return tree.Empty, err
	case n > maxPage:
		return tree.Empty, fmt.Errorf("%w: the answer has more than %d bytes", ErrTooBig, maxPage)
	case !json.Valid(text.Bytes()):
		return tree.Empty, fmt.Errorf("%w: the answer is not JSON", ErrUnavailable)
	}
	return readNode(text.Bytes())
}

// A cutReader reads an answer that may be cut off.
type cutReader struct{ io.Reader }

func (r cutReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", ErrDisconnected, err)
	}
	return n, err
}

// read calls take with an answer as it arrives. It ends with ctx, and with the client.
func (r Ref) read(ctx context.Context, req ReadRequest, take func(io.Reader) error) error {
	if err := r.check(); err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(r.client.ctx, stop)()
	body, err := r.open(reading, req)
	if err == nil {
		defer body.Close()
		err = take(body)
	}
	switch ended := ctx.Err(); {
	case ended != nil && !errors.Is(err, ended): // which may say why there is no connection
		return ended
	case ended == nil && err != nil && reading.Err() != nil:
		return r.client.cause()
	}
	return err
}

func (r Ref) open(ctx context.Context, req ReadRequest) (io.ReadCloser, error) {
	credential, err := r.client.signedInAs(ctx)
	if err != nil {
		return nil, err
	}
	req.Path, req.Credential = r.path.String(), credential
	return r.client.transport.Read(ctx, req)
}

// signedInAs returns the credential of the client, once it has one and is not
// offline.
func (c *Client) signedInAs(ctx context.Context) (string, error) {
	for {
		c.mu.Lock()
		credential, err, changed := c.credential, c.err, c.states.wait()
		// A source may want the client to be signed out.
		known := credential != "" || c.states.connected || c.options.Token == nil
		offline := c.offline
		c.mu.Unlock()
		if err != nil || known && !offline {
			return credential, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", c.late(ctx)
		}
	}
}

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
			if isTooLong(err, limit) {
				limit /= 2
				continue
			}
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
