package derive_test

import (
	"fmt"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// A member is added to a group: the group appears at the user, in the same update.
func ExampleDocument_Derive() {
	doc, err := derive.Parse(`{
		"format": "dogwood-data/1",
		"define": {
			"groupsOfUser": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"},
			"members": {"count": "/groups/$g/members/$u", "to": "/sizes/$g"},
		}}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	before := state{World: rulestest.World{Root: tree.MustParseNode(`{"groups":{"go":{"title":"Go"}}}`)}}
	result, err := doc.Derive(&derive.Change{Before: before, Writes: []tree.ResolvedWrite{{
		Target: tree.Target{Path: tree.MustParsePath("groups/go/members/ann")},
		Node:   tree.Bool(true),
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, x := range result.Derived {
		fmt.Println(x.Definition.Name, x.Path, x.Value.JSON())
	}
	// Output:
	// groupsOfUser /users/ann/groups/go true
	// members /sizes/go 1
}
