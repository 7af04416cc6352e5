package sync_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/dogwooddb/dogwood/rules"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/tree"
)

var ctx = context.Background()

// check ends an example that fails.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// put replaces the value at a path.
func put(db *dsync.Database, c dsync.Caller, path, json string) error {
	target, err := tree.ParseTarget(path)
	check(err)
	w, err := tree.ParseWrite(target, json, tree.Strict)
	check(err)
	_, err = db.Write(ctx, dsync.Write{Caller: c, Update: tree.Update{w}, Base: target.Path})
	return err
}

// A database in memory decides each operation by its rules.
func ExampleOpen() {
	r, err := rules.Parse(`{"rules": {"rooms": {".read": true, ".write": "auth != null"}}}`)
	check(err)
	db, err := dsync.Open(dsync.Options{Rules: r})
	check(err)
	defer db.Close()

	var signedOut dsync.Caller
	err = put(db, signedOut, "/rooms/r1", `{"name": "Lobby"}`)
	fmt.Println(err, errors.Is(err, fault.ErrDenied))
	check(put(db, dsync.Admin, "/rooms/r1", `{"name": "Lobby"}`))
	n, err := db.Get(ctx, dsync.Read{Caller: signedOut, Path: tree.MustParsePath("/rooms/r1")})
	check(err)
	fmt.Println(n.JSON())
	// Output:
	// permission denied true
	// {"name":"Lobby"}
}

// The first event of a listener is its view. When a write returns, its events are queued in
// the outbox of each listener.
func ExampleDatabase_Listen() {
	db, err := dsync.Open(dsync.Options{})
	check(err)
	defer db.Close()
	check(put(db, dsync.Admin, "/rooms/r1/name", `"Lobby"`))

	out := outbox.New(outbox.EventStream, 0, func() {}) // a server has it wake the writer of a socket
	defer out.Close()
	l, err := db.Listen(ctx, dsync.Read{Caller: dsync.Admin, Path: tree.MustParsePath("/rooms/r1"), Plain: true}, "", out)
	check(err)
	defer l.Close()
	fmt.Printf("%s", bytes.Join(out.Take(1<<20), nil))
	check(put(db, dsync.Admin, "/rooms/r1/topic", `"roses"`))
	fmt.Printf("%s", bytes.Join(out.Take(1<<20), nil))
	// Output:
	// event: put
	// data: {"path":"/","data":{"name":"Lobby"}}
	//
	// event: put
	// data: {"path":"/topic","data":"roses"}
}
