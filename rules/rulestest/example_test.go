package rulestest_test

import (
	"context"
	"fmt"
	"log"

	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// Run the tests of a file. Here the file is a text, and its rules and data stand in it.
func ExampleRunner_Run() {
	suite, err := rulestest.Parse("rooms.rules-test.json", `{
		"rules": {"rules": {"rooms": {"$room": {".read": "data.child('members').hasChild(auth.uid)"}}}},
		"users": {"ana": {"uid": "ana"}, "bo": {"uid": "bo"}},
		"data": {"rooms": {"lobby": {"members": {"ana": true}}}},
		"tests": [
			{"name": "members read their room", "as": "ana", "read": "/rooms/lobby", "expect": "allow"},
			{"name": "guests read it, too", "as": "bo", "read": "/rooms/lobby", "expect": "allow"}
		]
	}`, nil)
	if err != nil {
		log.Fatal(err)
	}
	ruleset, compileErr := suite.Rules.Compile()
	results, err := new(rulestest.Runner).Run(context.Background(), suite, ruleset, compileErr)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Println(r.Status, r.Name(), r.Problems)
	}
	fmt.Println(rulestest.Summarize(results))
	// Output:
	// pass members read their room []
	// fail guests read it, too [got deny, want allow]
	// 1 passed, 1 failed
}

// Evaluate an expression outside a rules document, as `dogwood rules repl` does.
func ExampleScene_Evaluate() {
	who, err := rulestest.ParseActor(`{"uid":"ana"}`)
	if err != nil {
		log.Fatal(err)
	}
	scene := rulestest.Scene{
		Pattern: "/rooms/$room",
		At:      tree.MustParsePath("/rooms/lobby"),
		Before:  rulestest.World{Root: tree.MustParseNode(`{"rooms":{"lobby":{"name":"Lobby"}}}`)},
		Who:     who,
	}
	for _, text := range []string{"$room + ' ' + auth.uid", "data.child('name').val().length", "data.parent()"} {
		v, err := scene.Evaluate(context.Background(), text)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(v.Text)
	}
	// Output:
	// "lobby ana"
	// 5
	// /rooms {…}
}
