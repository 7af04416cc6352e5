package rules_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// Parse a document and decide a read.
func ExampleRuleset_Check() {
	ruleset, err := rules.Parse(`{"rules": {
		"rooms": {"$room": {
			// Members of a room may read it.
			".read": "auth != null && root.child('members/' + $room + '/' + auth.uid).exists()"
		}}
	}}`)
	if err != nil {
		log.Fatal(err)
	}
	data := rulestest.World{Root: tree.MustParseNode(`{"members":{"lobby":{"ana":true}}}`)}
	for _, uid := range []string{"ana", "bo"} {
		decision, err := ruleset.Check(context.Background(), &rules.Request{
			Op:   rules.OpRead,
			Path: tree.MustParsePath("/rooms/lobby"),
			Auth: rules.NewAuth(fmt.Sprintf(`{"uid":%q}`, uid)),
			Data: data, // in a server: a transaction of its store
			Now:  time.Now(),
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(uid, decision.Allow, decision.Rule)
	}
	// Output:
	// ana true /rooms/$room/.read
	// bo false /rooms/$room/.read
}

// Explain a denial. The trace has the values of the parts of each rule that was asked;
// package explain draws them under the source.
func ExampleRuleset_Explain() {
	ruleset, err := rules.Parse(`{"rules": {
		"users": {"$uid": {".read": "auth != null && auth.uid == $uid"}}
	}}`)
	if err != nil {
		log.Fatal(err)
	}
	request := &rules.Request{
		Op:   rules.OpRead,
		Path: tree.MustParsePath("/users/ana"),
		Auth: rules.NewAuth(`{"uid":"bo"}`),
		Data: rulestest.World{},
	}
	trace, err := ruleset.Explain(context.Background(), request)
	if err != nil {
		log.Fatal(err)
	}
	if err := explain.Text(os.Stdout, request, trace, explain.Options{Values: true}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// denied  read /users/ana  as "bo"
	// → false    /users/$uid/.read   2:31   at /users/ana
	//            auth != null && auth.uid == $uid
	//            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ false
	//            ^^^^^^^^^^^^ true
	//                            ^^^^^^^^^^^^^^^^ false
	//                            ^^^^^^^^ "bo"
	//                            ^^^^ {"uid":"bo"}
	//                                        ^^^^ "ana"
}

// A .validate rule says what data must look like. It is asked of each node that a
// write leaves behind, and newData is the tree after the write.
func ExampleRuleset_Check_validate() {
	ruleset, err := rules.Parse(`{"rules": {
		"messages": {
			".write": "auth != null",
			"$id": {
				".validate": "newData.hasChildren(['text', 'by'])",
				"text": {".validate": "newData.isString() && newData.val().length <= 20"},
				"by": {".validate": "newData.val() == auth.uid"},
				"$other": {".validate": false}
			}
		}
	}}`)
	if err != nil {
		log.Fatal(err)
	}
	for _, message := range []string{
		`{"text":"hello","by":"ana"}`,
		`{"text":"hello","by":"bo"}`,
		`{"text":"hello","by":"ana","color":"red"}`,
	} {
		decision, err := ruleset.Check(context.Background(), &rules.Request{
			Op:   rules.OpWrite,
			Auth: rules.NewAuth(`{"uid":"ana"}`),
			Writes: []tree.ResolvedWrite{{
				Target: tree.Target{Path: tree.MustParsePath("/messages/m1")},
				Node:   tree.MustParseNode(message),
			}},
			Data: rulestest.World{},
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(decision.Allow, decision.Rule)
	}
	// Output:
	// true /messages/.write
	// false /messages/$id/by/.validate
	// false /messages/$id/$other/.validate
}

// A document with mistakes has an error for each rule, with the position.
func ExampleParse_errors() {
	_, err := rules.Parse(`{"rules": {
  ".read": "auht != null",
  ".write": "newData.isSting()"
}}`)
	fmt.Print(err)
	// Output:
	// 2:13: Unknown variable 'auht'.
	// 3:22: No such method/property 'isSting'.
}
