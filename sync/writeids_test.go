package sync

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
)

const testWriter = "2f1c0b1e-58a3-4d0f-8a56-0d6c0c1b9e9e"

// increment is the request to add one to /n, under an id.
func increment(request, number int) string {
	const text = `{"r":%d,"a":"p","b":{"p":"/n","d":{".sv":{"increment":1}},"w":"` + testWriter + `:%d"}}`
	return fmt.Sprintf(text, request, number)
}

// TestWriteIDsAreDurable: a write that was acknowledged is recognized after the
// file was opened again, and after it was copied as a crash leaves it.
func TestWriteIDsAreDurable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	db, err := Open(Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.SetRules(t.Context(), parseRules(t, `{"rules":{".write":true}}`)); err != nil {
		t.Fatal(err)
	}
	c := connect(t, db, "c", 0)
	c.send(increment(1, 1))
	c.settle()
	wantFrames(t, c, `{"r":1,"b":{"s":"ok","d":""}}`)
	crashed := copyFile(t, file)
	c.session.Close()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{file, crashed} {
		db := openTest(t, Options{File: file})
		c := connect(t, db, "c", 0)
		c.send(increment(1, 1))
		c.send(increment(2, 2))
		c.settle()
		wantFrames(t, c, `{"r":1,"b":{"s":"ok","d":""}}`, `{"r":2,"b":{"s":"ok","d":""}}`)
		want(t, db, "/n", "2")
		c.session.Close()
	}
}

// TestWriteIDOfAFailedBatch: what could not be stored is not on record, so the
// client may try again.
func TestWriteIDOfAFailedBatch(t *testing.T) {
	log := new(faultyLog)
	db := openTest(t, Options{Change: log})
	c := connect(t, db, "c", 0)
	defer c.session.Close()
	log.set(true)
	c.send(increment(1, 1))
	c.settle()
	log.set(false)
	c.send(increment(2, 1))
	c.send(increment(3, 1))
	c.settle()
	wantFrames(t, c,
		`{"r":1,"b":{"s":"unavailable","d":"The service is temporarily unavailable."}}`,
		`{"r":2,"b":{"s":"ok","d":""}}`,
		`{"r":3,"b":{"s":"ok","d":""}}`)
	want(t, db, "/n", "1")
}

// TestWriteIDsUnderRepetition: a client that loses its connection at random and
// sends again what was not answered gets each write carried out once.
func TestWriteIDsUnderRepetition(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		db := openTest(t, Options{})
		const writes = 60
		for answered := 0; answered < writes; {
			c := connect(t, db, "c", 0)
			send := min(writes-answered, rnd.IntN(20)+1)
			for i := range send {
				c.send(increment(i, answered+i+1))
			}
			c.settle()
			answered += rnd.IntN(send + 1) // the others are lost
			c.session.Close()
		}
		want(t, db, "/n", fmt.Sprint(writes))
	}
}

// TestPrincipal: a caller stays the same while tokens are refreshed, and is no other.
func TestPrincipal(t *testing.T) {
	user := func(auth string) Caller { return Caller{Auth: rules.NewAuth(auth)} }
	ana := user(`{"uid":"ana","provider":"password","token":{"iat":1,"exp":2,"sub":"ana"}}`)
	later := user(`{"uid":"ana","provider":"password","token":{"iat":3,"exp":4,"sub":"ana","email":"a@example.org"}}`)
	stored := Caller{Auth: rules.Auth{UID: "ana", JSON: `{"uid":"ana","provider":"password"}`}} // not decoded yet
	if ana.Principal() != later.Principal() || ana.Principal() != stored.Principal() {
		t.Errorf("ana is %q, later %q, from a file %q", ana.Principal(), later.Principal(), stored.Principal())
	}
	seen := make(map[string]Caller)
	for _, c := range []Caller{
		ana, Admin, {},
		user(`{"uid":"bo","provider":"password"}`),
		user(`{"uid":"ana","provider":"custom"}`),
		user(`{"uid":"ana"}`),
		user(`{"uid":"\" ana","provider":""}`),
		user(`{"uid":"ana","provider":"password\" "}`),
		user(`{"role":"guest"}`),
		user(`{"role":"editor"}`),
		user(`{}`),
	} {
		if other, ok := seen[c.Principal()]; ok {
			t.Errorf("%+v and %+v are both %q", c.Auth, other.Auth, c.Principal())
		}
		seen[c.Principal()] = c
	}
}

// FuzzParseWriteID: what is an id is written in one way.
func FuzzParseWriteID(f *testing.F) {
	f.Add(testWriter + ":1")
	f.Add(testWriter + ":9007199254740991")
	f.Add(strings.ToUpper(testWriter) + ":1")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := parseWriteID(text)
		if err != nil {
			return
		}
		w := id.Writer
		again := fmt.Sprintf("%x-%x-%x-%x-%x:%d", w[:4], w[4:6], w[6:8], w[8:10], w[10:], id.Number)
		if again != text {
			t.Errorf("%q is read as %q", text, again)
		}
	})
}
