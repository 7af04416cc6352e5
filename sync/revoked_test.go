package sync

import (
	"context"
	"maps"
	"path/filepath"
	"testing"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
)

// prove has the sign-ins of a client give their token as the proof.
func prove(c *client) {
	signIn := c.session.signIn
	c.session.signIn = func(ctx context.Context, cred Credential) (Caller, SignInInfo, error) {
		caller, info, err := signIn(ctx, cred)
		info.Proof = cred.Token
		return caller, info, err
	}
}

// TestRevokedOperations: an operation that was left with a credential that was revoked since is
// neither carried out nor kept, whatever the client is signed in as in the end, and also where the
// next start finds it. Those of other credentials are carried out.
func TestRevokedOperations(t *testing.T) {
	for end, closes := range map[string]bool{"left": true, "killed": false} {
		t.Run(end, func(t *testing.T) {
			asked := make(map[string]int)
			o := Options{File: filepath.Join(t.TempDir(), "db"), Rules: rules.Open(), Revoked: func(proof string) (bool, error) {
				asked[proof]++
				return proof == "user ana", nil
			}}
			db, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			c := connect(t, db, "a", 0)
			prove(c)
			for _, request := range []string{
				`{"r":1,"a":"o","b":{"p":"/before","d":1}}`,
				`{"r":2,"a":"auth","b":{"cred":"user ana"}}`,
				`{"r":3,"a":"o","b":{"p":"/ana","d":{"x":1,"y":2}}}`,
				`{"r":4,"a":"om","b":{"p":"/","d":{"ana2":1,"ana3/x":2}}}`,
				`{"r":5,"a":"o","b":{"p":"/taken","d":{"x":1}}}`,
				`{"r":6,"a":"oc","b":{"p":"/ana/y"}}`, // its rest is still hers
				`{"r":7,"a":"auth","b":{"cred":"user bo"}}`,
				`{"r":8,"a":"o","b":{"p":"/bo","d":1}}`,
				`{"r":9,"a":"o","b":{"p":"/taken/y","d":2}}`,
				`{"r":10,"a":"unauth","b":{}}`,
				`{"r":11,"a":"o","b":{"p":"/after","d":1}}`,
			} {
				c.send(request)
			}
			c.settle()
			if closes {
				c.session.Close()
			}
			const want = `{"after":1,"before":1,"bo":1,"taken":{"x":1,"y":2}}`
			for _, revoked := range []func(string) (bool, error){o.Revoked, nil} { // nothing is left for the second time
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				o.Revoked = revoked
				if db, err = Open(o); err != nil {
					t.Fatal(err)
				}
				if got := get(t, db, "/"); got != want {
					t.Errorf("it is %s, want %s", got, want)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if once := map[string]int{"user ana": 1, "user bo": 1}; !maps.Equal(asked, once) {
				t.Errorf("asked %v, want %v", asked, once)
			}
		})
	}
}

// TestUndecidedOperations: while it is not known whether a credential was revoked, what was left
// with it is neither carried out nor lost. It does not count for the client any more.
func TestUndecidedOperations(t *testing.T) {
	known := false
	o := Options{File: filepath.Join(t.TempDir(), "db"), Rules: rules.Open(), Revoked: func(string) (bool, error) {
		if !known {
			return false, errInjected
		}
		return false, nil
	}}
	db, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, db, "a", 0)
	prove(c)
	c.session.pendingBytes = limit.NewMeter(1 << 20).All()
	c.send(`{"r":1,"a":"o","b":{"p":"/open","d":1}}`)
	c.send(`{"r":2,"a":"auth","b":{"cred":"user ana"}}`)
	c.send(`{"r":3,"a":"om","b":{"p":"/","d":{"ana":1,"ana2":2}}}`)
	c.settle()
	c.session.Close()
	want(t, db, "/", `{"open":1}`)
	if used := c.session.pendingBytes.Used(); used != 0 {
		t.Errorf("%d bytes are held for the client", used)
	}
	for _, value := range []string{`{"open":1}`, `{"ana":1,"ana2":2,"open":1}`} {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if db, err = Open(o); err != nil {
			t.Fatal(err)
		}
		want(t, db, "/", value)
		known = true
	}
	checkTest(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
