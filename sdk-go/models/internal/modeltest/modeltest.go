// Package modeltest opens the data models of testdata/models in memory, for the
// examples and tests of the other packages.
package modeltest

import (
	"context"
	"encoding/json"
	"log"
	"maps"
	"os"
	"path/filepath"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/embed"
)

// start is the time at which the clock of each database starts: that of the data.
var start = time.UnixMilli(1_700_000_000_000)

// A DB is a data model in memory, with its data and its rules.
type DB struct{ *embed.Database }

// Open opens a model: "chat". It ends the program if that fails, so that examples
// can be short.
func Open(name string) DB {
	opened := time.Now()
	return OpenAt(name, func() time.Time { return start.Add(time.Since(opened)) })
}

// OpenAt is Open with a clock for the database.
func OpenAt(name string, now func() time.Time) DB {
	return open(name, embed.Options{Rules: text(name, "rules.json"), Now: now})
}

// OpenDeclared opens a model in its second form: with its data document, and with the rules for
// it.
func OpenDeclared(name string) DB {
	return open(name, embed.Options{Rules: text(name, "rules.declared.json"), Data: text(name, "database.data.json")})
}

func open(name string, o embed.Options) DB {
	db, err := embed.OpenWith("", o)
	Check(err)
	Check(db.Ref("").Set(context.Background(), json.RawMessage(text(name, "data.json"))))
	return DB{db}
}

// text returns a file of a model.
func text(name, file string) string {
	return string(read(filepath.Join("..", "..", "..", "testdata", "models", name, file)))
}

func read(file string) []byte {
	text, err := os.ReadFile(file)
	Check(err)
	return text
}

// As returns a client of a user, whose token may have further claims.
func (db DB) As(uid string, claims ...map[string]any) *dogwood.Client {
	token := map[string]any{}
	for _, c := range claims {
		maps.Copy(token, c)
	}
	c, err := db.Database.As(map[string]any{"uid": uid, "token": token})
	Check(err)
	return c
}

// Close closes the database and all clients of it.
func (db DB) Close() { Check(db.Database.Close()) }

// Check ends the program if there is an error.
func Check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
