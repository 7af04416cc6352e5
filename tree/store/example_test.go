package store_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// memory returns a store that is kept in memory, with a value.
func memory(value string) *store.Store {
	s, err := store.Open("", store.Options{})
	if err != nil {
		panic(err)
	}
	err = s.Update(func(tx *store.Tx) error {
		_, err := tx.Put(tree.Root, tree.MustParseNode(value))
		return err
	})
	if err != nil {
		panic(err)
	}
	return s
}

// A write transaction sees its own writes; others see them when it is committed.
func ExampleStore_Update() {
	s := memory(`{"count": 1}`)
	defer s.Close()
	err := s.Update(func(tx *store.Tx) error {
		changed, err := tx.Put(tree.MustParsePath("users/alice"), tree.String("Alice"))
		fmt.Println("changed:", changed)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	_ = s.View(func(tx *store.Tx) error {
		n, err := tx.Get(tree.Root)
		fmt.Println(n.JSON())
		return err
	})
	// Output:
	// changed: true
	// {"count":1,"users":{"alice":"Alice"}}
}

func ExampleTx_Query() {
	s := memory(`{"alice": {"age": 30}, "bob": {"age": 25}, "carol": {"age": 35}}`)
	defer s.Close()
	if err := s.Declare([]store.Index{{Pattern: "/", Order: "age"}}); err != nil {
		fmt.Println(err)
	}
	_ = s.View(func(tx *store.Tx) error {
		youngest, err := tx.Query(tree.Root, tree.Query{OrderBy: "age", Limit: 2})
		for _, e := range youngest {
			fmt.Println(e.Key, e.Value.JSON())
		}
		return err
	})
	// Output:
	// bob 25
	// alice 30
}

// A load stores a value of any size, and makes it visible in one commit.
func ExampleLoad() {
	s := memory(`{"old": true}`)
	defer s.Close()
	l, err := s.NewLoad(tree.MustParsePath("new"), store.LoadOptions{})
	if err == nil {
		err = l.Read(context.Background(), strings.NewReader(`{"a": [1, 2, 3]}`))
	}
	if err == nil {
		err = s.Update(func(tx *store.Tx) error { _, err := l.Link(tx); return err })
	}
	if err != nil {
		fmt.Println(err)
	}
	_ = s.View(func(tx *store.Tx) error { return tx.WriteJSON(os.Stdout, tree.Root) })
	// Output: {"new":{"a":{"0":1,"1":2,"2":3}},"old":true}
}
