package sync

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree/store"
)

// TestRevokedOnTheShelf: whether a credential was revoked is asked again when another text comes in force, and not of
// the committer. If that is not known then, the operation stays on record until the next start.
func TestRevokedOnTheShelf(t *testing.T) {
	const (
		goodRules = `{"rules":{".read":true,".write":true}}`
		badRules  = `{"rules":{".write":"later()"}}`
	)
	for name, text := range map[string]struct {
		bad    string
		put    func(*store.Tx, versions.Version, string) error
		change func(*testing.T, *Database) error
	}{
		"rules": {badRules, versions.Put, func(t *testing.T, db *Database) error {
			return db.SetRules(t.Context(), parseRules(t, goodRules))
		}},
		"document": {laterDocument, versions.PutData, func(t *testing.T, db *Database) error {
			declare(t, db, keptDocument)
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			answers := make(map[string]error)
			var db *Database
			o := Options{File: filepath.Join(t.TempDir(), "db"), Rules: rules.Open(), Revoked: func(proof string) (bool, error) {
				if db != nil { // the committer goes on meanwhile
					if err := db.do(t.Context(), &call{f: func(*batch) error { return nil }}); err != nil {
						t.Error(err)
					}
				}
				err := answers[proof]
				if err == errRevoked {
					return true, nil
				}
				return false, err
			}}
			before, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := before.SetRules(t.Context(), parseRules(t, goodRules)); err != nil {
				t.Fatal(err)
			}
			declare(t, before, keptDocument)
			c := connect(t, before, "a", 0)
			prove(c)
			for _, request := range []string{
				`{"r":1,"a":"o","b":{"p":"/groups/g/members/open","d":1}}`,
				`{"r":2,"a":"auth","b":{"cred":"user ana"}}`,
				`{"r":3,"a":"o","b":{"p":"/groups/g/members/ana","d":1}}`,
				`{"r":4,"a":"auth","b":{"cred":"user bo"}}`,
				`{"r":5,"a":"o","b":{"p":"/groups/g/members/bo","d":1}}`,
				`{"r":6,"a":"auth","b":{"cred":"user cy"}}`,
				`{"r":7,"a":"o","b":{"p":"/groups/g/members/cy","d":1}}`,
			} {
				c.send(request)
			}
			c.settle()
			if err := before.Close(); err != nil {
				t.Fatal(err)
			}
			withStored(t, o.File, text.bad, text.put)
			opened, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			db = opened
			want(t, db, "/groups", "null")
			answers["user ana"], answers["user cy"] = errRevoked, errInjected
			if err := text.change(t, db); err != nil {
				t.Fatal(err)
			}
			set(t, db, "/after", "1")
			want(t, db, "/groups/g/members", `{"bo":1,"open":1}`)
			if n := records(t, db); n != 1 {
				t.Errorf("%d records are left, want that of cy", n)
			}
			db = nil
			if err := opened.Close(); err != nil {
				t.Fatal(err)
			}
			delete(answers, "user cy")
			db = openTest(t, o)
			want(t, db, "/groups/g/members", `{"bo":1,"cy":1,"open":1}`)
		})
	}
}

// TestShelfNeedsNoWrite: what has waited is carried out without another write, also if the step of background work
// comes first that is due after many batches.
func TestShelfNeedsNoWrite(t *testing.T) {
	for batches := workEvery - 4; batches <= workEvery; batches++ {
		file := withOrphan(t)
		withStored(t, file, `{"rules":{".write":"later()"}}`, versions.Put)
		synctest.Test(t, func(t *testing.T) {
			db := openTest(t, Options{File: file})
			synctest.Wait()
			for range batches {
				if err := db.do(t.Context(), &call{f: func(b *batch) error { b.db.work = true; return nil }}); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.SetRules(t.Context(), parseRules(t, `{"rules":{".read":true,".write":true}}`)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := records(t, db); n != 0 {
				t.Errorf("after %d batches, %d records are left", batches, n)
			}
		})
	}
}
