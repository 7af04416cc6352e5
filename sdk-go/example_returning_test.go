package dogwood_test

import (
	"fmt"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

func ExampleRef_Increment() {
	db := sample()
	defer db.Close()
	for range 2 {
		ticket, err := db.Ref("tickets/last").Increment(ctx, 1)
		check(err)
		fmt.Println("ticket", ticket)
	}
	// Output:
	// ticket 1
	// ticket 2
}

func ExampleRef_SetReturning() {
	db := sample()
	defer db.Close()
	values, err := db.Ref("rooms/r1/visits").SetReturning(ctx, map[string]any{
		"count": dogwood.Increment(1),
		"last":  dogwood.ServerTimestamp,
	})
	check(err)
	fmt.Println(values["count"], values["last"] > 0)
	// Output: 1 true
}

func ExampleRef_UpdateReturning() {
	db := sample()
	defer db.Close()
	values, err := db.Ref("").UpdateReturning(ctx, map[string]any{
		"scores/ana":        dogwood.Increment(-5),
		"scores/bo":         dogwood.Increment(5),
		"transfers/1/title": "a round of tea",
	})
	check(err)
	fmt.Println(values)
	// Output: map[scores/ana:25 scores/bo:15]
}
