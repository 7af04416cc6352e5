package tree_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

// What clients write is read into the canonical form: keys in order, no nulls, arrays as
// objects.
func ExampleParse() {
	d, err := tree.Parse(`{"list": ["a", "b"], "gone": null, ".priority": 1}`, 0, tree.Strict)
	fmt.Println(d.Text(), err)

	_, err = tree.Parse("{\"a\": 1,\n \"b.c\": 2}", 0, tree.Strict)
	fmt.Println(err)
	// Output:
	// {".priority":1,"list":{"0":"a","1":"b"}} <nil>
	// 2:2: invalid key "b.c"
}

func ExampleNode_With() {
	n := tree.MustParseNode(`{"alice": {"age": 30}}`)
	n = n.With(tree.MustParsePath("bob/age"), tree.Number(25))
	n = n.With(tree.MustParsePath("alice/age"), tree.Empty) // an empty object is none
	fmt.Println(n.JSON())
	// Output: {"bob":{"age":25}}
}

func ExampleQuery_Apply() {
	n := tree.MustParseNode(`{"alice": {"age": 30}, "bob": {"age": 25}, "carol": {"age": 35}}`)
	oldest := tree.Query{OrderBy: "age", Limit: 2, FromLast: true}
	fmt.Println(oldest.Apply(n).JSON())
	// Output: {"alice":{"age":30},"carol":{"age":35}}
}

// Server values are replaced when a write is carried out.
func ExampleDraft_Resolve() {
	d, _ := tree.Parse(`{"at": {".sv": "timestamp"}, "count": {".sv": {"increment": 2}}}`, 0, tree.Strict)
	existing := func(tree.Path) (tree.Node, error) { return tree.Number(40), nil }
	n, err := d.Resolve(time.UnixMilli(1700000000000).UnixMilli(), existing)
	fmt.Println(n.JSON(), err)
	// Output: {"at":1700000000000,"count":42} <nil>
}

// rows is a Sink that prints what it gets.
type rows struct{}

func (rows) Node(at tree.Path, n tree.Node) (tree.Stored, error) {
	fmt.Println(at, n.JSON())
	return at, nil
}
func (rows) Container(at tree.Path) tree.Container                 { return container{at} }
func (rows) String() (tree.LongString, error)                      { return nil, fmt.Errorf("no long strings") }
func (rows) Drop(tree.Stored)                                      {}
func (rows) ServerValue(tree.Target, tree.Draft) (tree.Node, bool) { return tree.Empty, false }
func (rows) WithPriority(_ tree.Path, v tree.Stored, _ tree.Node) (tree.Stored, error) {
	return v, nil
}

type container struct{ at tree.Path }

func (c container) Node(key string, n tree.Node) error {
	fmt.Println(c.at.Child(key), n.JSON())
	return nil
}
func (c container) Child(string, tree.Stored) error      { return nil }
func (c container) Close(tree.Node) (tree.Stored, error) { return c.at, nil }

// A text of any size is read part by part.
func ExampleParseStream() {
	src := strings.NewReader(`{"users": {"alice": {"age": 30}, "bob": {"age": 25}}, "version": 1}`)
	_, err := tree.ParseStream(context.Background(), src, tree.Root, 20, rows{})
	fmt.Println(err)
	// Output:
	// /users/alice {"age":30}
	// /users/bob {"age":25}
	// /version 1
	// <nil>
}
