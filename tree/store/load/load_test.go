package load

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dogwooddb/dogwood/tree"
)

// nodes builds a value in memory.
type nodes struct{}

// A container is one in memory. Its last child of a name counts.
type container struct{ node tree.Node }

func (nodes) Node(_ Place, n tree.Node) (tree.Node, error) { return n, nil }

func (nodes) Container(tree.Path) *container { return new(container) }

func (nodes) Add(c *container, key string, child tree.Node) error {
	c.node = c.node.With(tree.Root.Child(key), child)
	return nil
}

func (nodes) Close(c *container, priority tree.Node) (v tree.Node, present bool, err error) {
	return c.node.WithPriority(priority), !c.node.IsEmpty(), nil
}

func (nodes) String() (String[tree.Node], error) { return new(text), nil }

func (nodes) WithPriority(_ Place, v, priority tree.Node) (tree.Node, error) {
	return v.WithPriority(priority), nil
}

func (nodes) Drop(tree.Node) {}

type text struct{ strings.Builder }

func (t *text) Append(part string) error { _, err := t.WriteString(part); return err }

func (t *text) Value() tree.Node { return tree.String(t.String()) }

// TestRead reads values in parts of a few bytes and wants what package tree reads, or an
// error of the same kind.
func TestRead(t *testing.T) {
	long := strings.Repeat(`a\u00e4`, chunkBytes)
	for _, src := range []string{
		`null`, ` 7 `, `"` + long + `"`, `{"a":{"b":"` + long + `"},"c":[1,null,{"d":true}]}`,
		`{"b":1,"a":{"x":{}},"b":{"c":"again"}}`, `{"a":1,"a":null}`, `[[[]]]`,
		`{".priority":3,"a":{".value":"text",".priority":"p"}}`, `{".value":{"a":1},".value":2}`,
		`{".value":1,"a":2}`, `{"a":`, `{"a" 1}`, `{"a":1} x`, `{"a/b":1}`, `{".priority":{}}`, `[1,`, `"ab`, ``,
	} {
		want, wrong := tree.ParseNode(src)
		for _, whole := range []int{1, 12, MaxWhole} {
			got, err := Read(context.Background(), NewText(iotest.HalfReader(strings.NewReader(src))), tree.Root, whole, nodes{})
			if got != want || (err == nil) != (wrong == nil) {
				t.Errorf("%.40s, %d bytes at once: %.60s, %v; want %.60s, %v", src, whole, got.JSON(), err, want.JSON(), wrong)
				continue
			}
			is, should := (*tree.ParseError)(nil), (*tree.ParseError)(nil)
			if errors.As(err, &is) != errors.As(wrong, &should) || is != nil && is.Kind != should.Kind {
				t.Errorf("%.40s, %d bytes at once: %v, want %v", src, whole, err, wrong)
			}
		}
	}
}

// TestReadFails: the error of a source is what a reader of it returns.
func TestReadFails(t *testing.T) {
	broken := errors.New("broken")
	src := io.MultiReader(strings.NewReader(`{"a":[1,`), iotest.ErrReader(broken))
	if _, err := Read(context.Background(), NewText(src), tree.Root, 1, nodes{}); !errors.Is(err, broken) {
		t.Errorf("the error is %v, want %v", err, broken)
	}
}
