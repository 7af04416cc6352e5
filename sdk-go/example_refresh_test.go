package dogwood_test

import "fmt"

func ExampleQuery_Refresh() {
	db := sample()
	defer db.Close()
	best := db.Ref("scores").OrderByValue().LimitToLast(1)
	have, err := best.Snapshot(ctx)
	check(err)
	for _, bo := range []int{11, 40} {
		check(db.Ref("scores/bo").Set(ctx, bo))
		now, changed, err := best.Refresh(ctx, have)
		check(err)
		fmt.Println(now, changed)
	}
	// Output:
	// {"ana":30} false
	// {"bo":40} true
}
