package dogwood_test

import (
	"fmt"
)

func ExampleQuery_Explain() {
	db := sample()
	defer db.Close()
	x, err := db.Ref("rooms").OrderByChild("topic").EqualTo("roses").Explain(ctx)
	check(err)
	fmt.Println(x.Plan, x.Visited, x.Results)
	if x.MissingIndexOn != nil {
		fmt.Println(x.MissingIndexOn.Paste)
	}
	// Output:
	// packed 2 1
	// "rooms": { ".indexOn": ["topic"] }
}

func ExampleRef_ExplainSet() {
	db := sample()
	defer db.Close()
	x, err := db.Ref("scores/ana").ExplainSet(ctx, 100)
	check(err)
	fmt.Println(x.Changes, x.Bytes)
	var score int
	check(db.Ref("scores/ana").Get(ctx, &score))
	fmt.Println(score)
	// Output:
	// true 3
	// 30
}

func ExampleRef_ExplainUpdate() {
	db := sample()
	defer db.Close()
	x, err := db.Ref("scores").ExplainUpdate(ctx, map[string]any{"ana": 1, "bo": nil})
	check(err)
	fmt.Println(x.Changes, x.Bytes)
	// Output: true 5
}
