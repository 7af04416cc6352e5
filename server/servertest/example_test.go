package servertest_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/server/servertest"
)

var ctx = context.Background()

// An example stands for the *testing.T of a test, which examples do not have.
type example struct {
	testing.TB
	cleanup func()
}

func (e *example) Helper()                           {}
func (e *example) Cleanup(f func())                  { e.cleanup = f }
func (e *example) Errorf(format string, args ...any) { log.Fatalf(format, args...) }
func (e *example) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

// A test prepares data, runs the program that it tests with the address of the server, and
// looks at the data again.
func ExampleNew() {
	t := new(example) // in a test: its *testing.T
	defer func() { t.cleanup() }()

	s := servertest.New(t, servertest.Options{})
	s.Set("/rooms/one/name", `"Lobby"`)
	rename(s.URL, dogwood.Options{})
	fmt.Println(s.Get("/rooms/one/name"))
	// Output:
	// renamed: <nil>
	// "Lounge"
}

// A token signs a user in, so a test can show what the rules allow.
func ExampleToken() {
	t := new(example)
	defer func() { t.cleanup() }()

	s := servertest.New(t, servertest.Options{})
	s.SetRules(`{"rules": {".read": true, ".write": "auth.uid == 'ana'"}}`)
	for _, uid := range []string{"ana", "bo"} {
		rename(s.URL, dogwood.Options{Token: dogwood.StaticToken(servertest.Token(uid, nil))})
	}
	// Output:
	// renamed: <nil>
	// renamed: set /rooms/one/name: permission denied
}

// rename is the program that is tested.
func rename(url string, o dogwood.Options) {
	db, err := dogwood.Dial(ctx, url, o)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	fmt.Println("renamed:", db.Ref("rooms/one/name").Set(ctx, "Lounge"))
}

// A test can have the server derive data as production does.
func ExampleServer_SetData() {
	t := new(example)
	defer func() { t.cleanup() }()

	s := servertest.New(t, servertest.Options{})
	s.SetData(`{"format": "dogwood-data/1", "define": {"rooms": {"count": "/rooms/$room", "to": "/sizes/rooms"}}}`)
	rename(s.URL, dogwood.Options{})
	fmt.Println(s.Get("/sizes/rooms"))
	// Output:
	// renamed: <nil>
	// 1
}
