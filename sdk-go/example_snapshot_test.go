package dogwood_test

import (
	"fmt"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/embed"
)

// snapshot reads a place of the sample.
func snapshot(path string) (dogwood.Snapshot, *embed.Database) {
	db := sample()
	s, err := db.Ref(path).Snapshot(ctx)
	check(err)
	return s, db
}

func ExampleSnapshot_Ref() {
	s, db := snapshot("rooms/r1")
	defer db.Close()
	fmt.Println(s.Child("name").Ref())
	// Output: /rooms/r1/name
}

func ExampleSnapshot_Key() {
	s, db := snapshot("rooms/r1")
	defer db.Close()
	fmt.Println(s.Key())
	// Output: r1
}

func ExampleSnapshot_Exists() {
	s, db := snapshot("rooms/r9")
	defer db.Close()
	fmt.Println(s.Exists())
	// Output: false
}

func ExampleSnapshot_Decode() {
	s, db := snapshot("rooms/r1")
	defer db.Close()
	var room Room
	check(s.Decode(&room))
	fmt.Println(room.Name)
	// Output: Lobby
}

func ExampleSnapshot_Value() {
	s, db := snapshot("scores")
	defer db.Close()
	fmt.Println(s.Value())
	// Output: map[ana:30 bo:10 cy:20]
}

func ExampleSnapshot_Priority() {
	s, db := snapshot("scores/ana")
	defer db.Close()
	fmt.Println(s.Priority())
	// Output: <nil>
}

func ExampleSnapshot_Child() {
	s, db := snapshot("rooms")
	defer db.Close()
	fmt.Println(s.Child("r2/topic").Value())
	// Output: roses
}

func ExampleSnapshot_NumChildren() {
	s, db := snapshot("scores")
	defer db.Close()
	fmt.Println(s.NumChildren())
	// Output: 3
}

func ExampleSnapshot_Children() {
	s, db := snapshot("scores")
	defer db.Close()
	for key, score := range s.Children() {
		fmt.Println(key, score.Value())
	}
	// Output:
	// ana 30
	// bo 10
	// cy 20
}

func ExampleSnapshot_JSON() {
	s, db := snapshot("scores")
	defer db.Close()
	fmt.Println(s.JSON())
	// Output: {"ana":30,"bo":10,"cy":20}
}

func ExampleSnapshot_Equal() {
	s, db := snapshot("scores")
	defer db.Close()
	fmt.Println(s.Child("ana").Equal(s.Child("bo")))
	// Output: false
}
