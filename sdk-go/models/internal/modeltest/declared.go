package modeltest

import (
	"context"
	"path/filepath"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/server/servertest"
)

// Declared opens a model in its second form at a server that ends with the test: with its
// data document, and with the rules for it. It returns what makes the client of a user.
func Declared(t testing.TB, name string) func(uid string) *dogwood.Client {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "testdata", "models", name)
	s := servertest.New(t, servertest.Options{})
	s.SetData(string(read(filepath.Join(dir, "database.data.json"))))
	s.Set("/", string(read(filepath.Join(dir, "data.json"))))
	s.SetRules(string(read(filepath.Join(dir, "rules.declared.json"))))
	return func(uid string) *dogwood.Client {
		db, err := dogwood.Dial(context.Background(), s.URL, dogwood.Options{Token: dogwood.StaticToken(servertest.Token(uid, nil))})
		Check(err)
		t.Cleanup(func() { Check(db.Close()) })
		return db
	}
}
