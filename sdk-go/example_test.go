package dogwood_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"strings"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/embed"
	"github.com/dogwooddb/dogwood/server"
)

// ctx is the context of all examples.
var ctx = context.Background()

// A Room is what the examples keep.
type Room struct {
	Name  string `json:"name"`
	Topic string `json:"topic,omitempty"`
}

// check ends an example that fails.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// sample returns a database in memory for an example, with two rooms and the
// scores of three players.
func sample() *embed.Database {
	db, err := embed.Open("")
	check(err)
	check(db.SetRules(ctx, `{"rules": {".read": true, "open": {".write": true}, "scores": {".indexOn": [".value", "points"]}}}`))
	check(db.Ref("rooms").Set(ctx, map[string]Room{"r1": {Name: "Lobby"}, "r2": {Name: "Garden", Topic: "roses"}}))
	check(db.Ref("scores").Set(ctx, map[string]int{"ana": 30, "bo": 10, "cy": 20}))
	return db
}

// serve runs a server in memory.
func serve() (url string, stop func()) {
	s, err := server.New(server.Options{Dev: true})
	check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	return "http://" + l.Addr().String() + "?ns=demo", func() {
		cancel()
		check(<-done)
	}
}

// printKeys prints the keys that a query selects.
func printKeys(q dogwood.Query) {
	s, err := q.Snapshot(ctx)
	check(err)
	var keys []string
	for key := range s.Children() {
		keys = append(keys, key)
	}
	fmt.Println(strings.Join(keys, " "))
}

func ExampleDial() {
	url, stop := serve() // "dogwood dev" would do as well
	defer stop()

	db, err := dogwood.Dial(ctx, url, dogwood.Options{})
	check(err)
	defer db.Close()
	check(db.Ref("greeting").Set(ctx, "hello"))
	text, err := dogwood.Get[string](ctx, db.Ref("greeting"))
	check(err)
	fmt.Println(text)
	// Output: hello
}

func ExampleStaticToken() {
	url, stop := serve()
	defer stop()

	db, err := dogwood.Dial(ctx, url, dogwood.Options{Token: dogwood.StaticToken("owner")})
	check(err)
	fmt.Println(db.Close())
	// Output: <nil>
}

// A transport of one's own counts the connections of another one.
func ExampleNew() {
	t := &countingTransport{Transport: offline{}}
	db, err := dogwood.New(ctx, t, dogwood.Options{})
	fmt.Println(db, err, t.connections)
	// Output: <nil> connect: no network here 1
}

type countingTransport struct {
	dogwood.Transport
	connections int
}

func (t *countingTransport) Connect(ctx context.Context, h dogwood.Handshake) (dogwood.Conn, error) {
	t.connections++
	return t.Transport.Connect(ctx, h)
}

type offline struct{ dogwood.Transport }

func (offline) Connect(context.Context, dogwood.Handshake) (dogwood.Conn, error) {
	return nil, errors.New("no network here")
}

func ExampleClient_Close() {
	db := sample()
	defer db.Close()
	ana, err := db.As(map[string]any{"uid": "ana"})
	check(err)
	check(ana.Close())
	fmt.Println(ana.Ref("open").Set(ctx, 1))
	// Output: set /open: the client is closed
}

func ExampleClient_Ref() {
	db := sample()
	defer db.Close()
	fmt.Println(db.Ref("rooms/r1"), db.Ref(""))
	fmt.Println(db.Ref("rooms/#1").Remove(ctx))
	// Output:
	// /rooms/r1 /
	// remove: invalid path "rooms/#1": keys have no . $ # [ ] / and no control characters
}

func ExampleClient_Update() {
	db := sample()
	defer db.Close()
	// Both or neither.
	check(db.Update(ctx, map[string]any{
		"members/r1/ana":     true,
		"users/ana/rooms/r1": true,
	}))
	printKeys(db.Ref("users/ana/rooms").Query)
	// Output: r1
}

func ExampleClient_ServerTime() {
	db := sample()
	defer db.Close()
	check(db.Ref("now").Set(ctx, dogwood.ServerTimestamp))
	at, err := dogwood.Get[int64](ctx, db.Ref("now"))
	check(err)
	fmt.Println(db.ServerTime().UnixMilli()-at < 60_000)
	// Output: true
}

func ExampleClient_GoOffline() {
	db := sample()
	defer db.Close()
	db.GoOffline()
	for connected, err := range db.Connected(ctx) {
		check(err)
		fmt.Println("connected:", connected)
		break
	}
	// Output: connected: false
}

func ExampleClient_GoOnline() {
	db := sample()
	defer db.Close()
	db.GoOffline()
	written := make(chan error)
	go func() { written <- db.Ref("a").Set(ctx, 1) }() // waits
	db.GoOnline()
	fmt.Println(<-written)
	// Output: <nil>
}

// Presence: the list has the users that are connected.
func ExampleClient_Connected() {
	db := sample()
	defer db.Close()
	me := db.Ref("online/ana")
	for connected, err := range db.Connected(ctx) {
		check(err)
		if !connected {
			continue // the server removes us
		}
		check(me.OnDisconnect().Remove(ctx))
		check(me.Set(ctx, true))
		printKeys(db.Ref("online").Query)
		break
	}
	// Output: ana
}

func ExampleError() {
	db := sample()
	defer db.Close()
	ana, err := db.As(map[string]any{"uid": "ana"})
	check(err)
	err = ana.Ref("rooms/r1").Remove(ctx)
	var e *dogwood.Error
	if errors.Is(err, dogwood.ErrPermissionDenied) && errors.As(err, &e) {
		fmt.Println(e.Op, e.Path, e.Status)
	}
	// Output: remove /rooms/r1 permission_denied
}

func ExampleEscapeKey() {
	fmt.Println(dogwood.EscapeKey("ana@example.org"))
	// Output: ana@example%2Eorg
}

func ExampleUnescapeKey() {
	fmt.Println(dogwood.UnescapeKey("ana@example%2Eorg"))
	// Output: ana@example.org <nil>
}

func ExampleRef_GetTo() {
	db := sample()
	defer db.Close()
	_, err := db.Ref("rooms/r2").GetTo(ctx, os.Stdout)
	check(err)
	// Output: {"name":"Garden","topic":"roses"}
}

func ExampleRef_Children() {
	db := sample()
	defer db.Close()
	for room, err := range db.Ref("rooms").Children(ctx) { // a million would not be too many
		check(err)
		fmt.Println(room.Key(), room.Child("name").Value())
	}
	// Output:
	// r1 Lobby
	// r2 Garden
}

func ExampleRef_Keys() {
	db := sample()
	defer db.Close()
	for key, err := range db.Ref("rooms").Keys(ctx) {
		check(err)
		fmt.Println(key)
	}
	// Output:
	// r1
	// r2
}
