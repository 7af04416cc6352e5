package pull

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/tree"
)

const (
	maxTries = 6                // of one request
	maxPause = 30 * time.Second // between two of them
	silence  = 2 * time.Minute  // in the middle of an answer
)

// A source is a database that is read in parts.
type source interface {
	Get(e *console.Env, path string, query url.Values) (*http.Response, error)
}

// A reader reads a database, part by part where it has to.
type reader struct {
	env     *console.Env
	from    source
	most    int64 // bytes of one answer
	pause   func(d time.Duration) error
	show    func(path string)
	bytes   int64 // that were read
	parts   int   // answers with data
	retried int
}

// errTooLarge says that a part has to be divided.
var errTooLarge = errors.New("the answer is too large")

// isTooLarge reports whether a server refuses a part because of its size, or because it takes
// too long to read. Firebase has several texts for that.
func isTooLarge(err error) bool {
	refused := (*client.ServerError)(nil)
	if !errors.As(err, &refused) {
		return errors.Is(err, errTooLarge)
	}
	if refused.Status == http.StatusRequestEntityTooLarge {
		return true
	}
	text := strings.ToLower(refused.Error())
	return refused.Status == http.StatusBadRequest && (strings.Contains(text, "exceeds the maximum size") ||
		strings.Contains(text, "too large") || strings.Contains(text, "too_big") || strings.Contains(text, "too big") ||
		strings.Contains(text, "timed out") || strings.Contains(text, "timeout"))
}

// isTemporary reports whether the same request may succeed later.
func isTemporary(err error) bool {
	refused := (*client.ServerError)(nil)
	if !errors.As(err, &refused) {
		return !errors.Is(err, errTooLarge) && !errors.Is(err, console.ErrInterrupted)
	}
	return refused.Status == http.StatusTooManyRequests || refused.Status >= http.StatusInternalServerError
}

// get reads one answer. It asks again, a bounded number of times, if that may help.
func (r *reader) get(path string, query url.Values) (text string, err error) {
	for try := 1; ; try++ {
		r.show(path)
		if text, err = r.getOnce(path, query); err == nil {
			r.bytes += int64(len(text))
			return text, nil
		}
		if r.env.Ctx.Err() != nil {
			return "", console.ErrInterrupted
		}
		if isTooLarge(err) || !isTemporary(err) {
			return "", err
		}
		if try == maxTries {
			return "", fmt.Errorf("%w (tried %d times)", err, maxTries)
		}
		r.retried++
		most := min(time.Second<<(try-1), maxPause)
		if err := r.pause(most/2 + rand.N(most/2)); err != nil {
			return "", err
		}
	}
}

func (r *reader) getOnce(path string, query url.Values) (string, error) {
	resp, err := r.from.Get(r.env, path, query)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.ContentLength > r.most {
		return "", errTooLarge
	}
	// A body that stops to arrive is closed, which ends the read.
	alive := time.AfterFunc(silence, func() { resp.Body.Close() })
	defer alive.Stop()
	var text strings.Builder
	body := &watchedReader{io.LimitReader(resp.Body, r.most+1), alive}
	if _, err := io.Copy(&text, body); err != nil {
		return "", fmt.Errorf("the answer broke off: %w", err)
	}
	if int64(text.Len()) > r.most {
		return "", errTooLarge
	}
	return text.String(), nil
}

// A watchedReader moves a timer on with everything that arrives.
type watchedReader struct {
	io.Reader
	alive *time.Timer
}

func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.alive.Reset(silence)
	}
	return n, err
}

var export = url.Values{"format": {"export"}}

// value reads a node with its priorities.
func (r *reader) value(path string, query url.Values) (tree.Node, error) {
	text, err := r.get(path, query)
	if err != nil {
		return tree.Empty, err
	}
	n, err := tree.ParseNode(text)
	if err != nil {
		return n, fmt.Errorf("the answer is not the JSON of a database: %w", err)
	}
	r.parts++
	return n, nil
}

// copy writes the node at a path as JSON: at once if it is small enough, else child by child.
// begin is what goes before it, unless there is no node.
func (r *reader) copy(w io.Writer, path, begin string) (written bool, err error) {
	n, err := r.value(path, export)
	switch {
	case isTooLarge(err):
		return r.divide(w, path, begin)
	case err != nil:
		return false, fmt.Errorf("%s: %w", shown(path), err)
	case n.IsEmpty():
		return false, nil
	}
	_, err = io.WriteString(w, begin+n.JSON())
	return true, err
}

func shown(path string) string { return "/" + strings.Trim(path, "/") }

// divide writes a node whose children are read one after the other, or some at a time.
func (r *reader) divide(w io.Writer, path, begin string) (written bool, err error) {
	keys, err := r.keys(path)
	if err != nil {
		return false, fmt.Errorf("%s: it is too large for one answer, and a list of its keys cannot be had: %w", shown(path), err)
	}
	o := &object{w: w, begin: begin}
	priority, err := r.get(path+"/.priority", nil)
	if err != nil {
		return false, fmt.Errorf("%s: its priority: %w", shown(path), err)
	}
	priority = strings.TrimSpace(priority)
	step := stride{size: max(1, min(len(keys)/8, 10_000)), most: 10_000}
	for len(keys) > 0 {
		some := keys[:min(step.size, len(keys))]
		if len(some) == 1 {
			if err := r.child(o, path, some[0]); err != nil {
				return false, err
			}
			step.succeeded()
			keys = keys[1:]
			continue
		}
		n, err := r.value(path, rangeOf(some))
		if isTooLarge(err) {
			step.failed()
			continue
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", shown(path), err)
		}
		if err := o.children(n, some); err != nil {
			return false, fmt.Errorf("%s: %w", shown(path), err)
		}
		step.succeeded()
		keys = keys[len(some):]
	}
	return o.end(priority)
}

// child writes one child, which may have to be divided, too.
func (r *reader) child(o *object, path, key string) error {
	written, err := r.copy(o.w, path+"/"+key, o.before(key))
	if written {
		o.count++
	}
	return err
}

// keys returns the keys of a node in their order.
func (r *reader) keys(path string) ([]string, error) {
	text, err := r.get(path, url.Values{"shallow": {"true"}})
	if err != nil {
		return nil, err
	}
	var children map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &children); err != nil {
		return nil, fmt.Errorf("it has no children, and cannot be divided: %w", err)
	}
	keys := make([]string, 0, len(children))
	for key := range children {
		if tree.ValidKey(key) { // not .priority, .value
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 && children != nil { // null: it was deleted meanwhile
		return nil, errors.New("it has no children, and cannot be divided")
	}
	tree.SortKeys(keys)
	return keys, nil
}

// rangeOf returns a query for the children from the first to the last of keys.
func rangeOf(keys []string) url.Values {
	return url.Values{
		"format":  {"export"},
		"orderBy": {`"$key"`},
		"startAt": {console.JSONText(keys[0])},
		"endAt":   {console.JSONText(keys[len(keys)-1])},
	}
}

// A stride is how many children are read at a time. It grows where children are small.
// Firebase refuses every query of a node that is very large, so it learns from a refusal.
type stride struct{ size, most, good int }

func (s *stride) failed() {
	s.size = max(1, s.size/2)
	s.most, s.good = s.size, 0
}

func (s *stride) succeeded() {
	if s.good++; s.good%64 == 0 { // it may be different here
		s.most = min(2*s.most, 10_000)
	}
	s.size = min(2*s.size, s.most)
}

// An object is JSON that is written child by child.
type object struct {
	w     io.Writer
	begin string // of it
	count int
}

// before returns what goes in front of the value of a child.
func (o *object) before(key string) string {
	if o.count == 0 {
		return o.begin + "{" + console.JSONText(key) + ":"
	}
	return "," + console.JSONText(key) + ":"
}

// children writes the children of an answer. Others than were asked for are a mistake of the
// server, which would become two children with the same key.
func (o *object) children(n tree.Node, asked []string) error {
	for key, child := range n.Children() {
		if tree.CompareKeys(key, asked[0]) < 0 || tree.CompareKeys(key, asked[len(asked)-1]) > 0 {
			return fmt.Errorf("the server answered with the child %q, which is not in the range that it was asked for", key)
		}
		if _, err := io.WriteString(o.w, o.before(key)+child.JSON()); err != nil {
			return err
		}
		o.count++
	}
	return nil
}

// end ends the object. Its priority comes last: it is not known to be wanted before there is
// a child.
func (o *object) end(priority string) (written bool, err error) {
	if o.count == 0 {
		return false, nil
	}
	text := "}"
	if priority != "null" {
		text = `,".priority":` + priority + text
	}
	_, err = io.WriteString(o.w, text)
	return true, err
}
