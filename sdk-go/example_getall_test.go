package dogwood_test

import "fmt"

func ExampleClient_GetAll() {
	db := sample()
	defer db.Close()
	check(db.Update(ctx, map[string]any{"rooms/r1/name": "Lobby", "rooms/r2/name": "Garden", "users/ana/rooms": map[string]bool{"r1": true, "r2": true}}))

	// In one round trip, of one moment: a place, a query, and a join.
	batch, err := db.GetAll(ctx,
		db.Ref("rooms/r1/name"),
		db.Ref("scores").OrderByValue().LimitToLast(1),
		db.Ref("users/ana/rooms").EachKey("rooms/$key/name"),
	)
	check(err)
	fmt.Println(batch.Results[0].Snapshot.Value(), batch.Results[1].Snapshot.Value())
	for _, room := range batch.Results[2].Each {
		fmt.Println(room.Snapshot.Ref(), room.Snapshot.Value(), room.Err)
	}
	// Output:
	// Lobby map[ana:30]
	// /rooms/r1/name Lobby <nil>
	// /rooms/r2/name Garden <nil>
}

func ExampleQuery_EachKey() {
	db := sample()
	defer db.Close()
	check(db.Update(ctx, map[string]any{"names/ana": "Ana", "names/bo": "Bo", "names/cy": "Cy"}))
	top := db.Ref("scores").OrderByValue().LimitToLast(2)
	batch, err := db.GetAll(ctx, top.EachKey("names/$key"))
	check(err)
	for _, name := range batch.Results[0].Each {
		fmt.Println(name.Snapshot.Value())
	}
	// Output:
	// Cy
	// Ana
}
