package sync

import (
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/rules"
)

// TestPositionIdentity: a position is of the identity that had it, with all that rules see of it.
func TestPositionIdentity(t *testing.T) {
	o := Options{}
	inFile(t, &o)
	db := openTest(t, o)
	user := func(auth string) Caller { return Caller{Auth: rules.NewAuth(auth)} }
	ana := `{"uid":"ana","token":{"sub":"ana","iat":1,"exp":9,"nbf":1,"jti":"a"}}`
	set(t, db, "/a", "1")
	push := string(db.audience.Place(user(ana), time.Now).Next())
	text := gjson.Get(push, "d.b.d").String()
	at, _ := db.audience.Place(user(ana), nil).Read(text)
	if at.Revision == 0 || at.Revision > 99 {
		t.Fatalf("the push %s has the position %v", push, at)
	}
	for auth, same := range map[string]bool{
		ana: true,
		`{"uid":"ana","token":{"sub":"ana","iat":2,"exp":9,"nbf":1,"jti":"a"}}`: false,
		`{"uid":"ana","token":{"sub":"ana","role":"editor"}}`:                   false,
		`{"uid":"ana","role":1,"token":{"sub":"ana"}}`:                          false,
		`{"uid":"bo","token":{"sub":"ana"}}`:                                    false,
		`{"uid":"ana"}`:                                                         false,
		``:                                                                      false,
	} {
		if got, _ := db.audience.Place(user(auth), nil).Read(text); (got == at) != same {
			t.Errorf("%q reads the position of %q: %t", auth, ana, !same)
		}
	}
	if got, _ := db.audience.Place(Admin, nil).Read(text); got == at {
		t.Error("an administrator reads the position of a user")
	}
	other := openTest(t, Options{})
	if m := other.audience.Place(Admin, nil); (m != nil) != other.store.Logged() {
		t.Errorf("a database whose log is there: %t, has positions: %t", other.store.Logged(), m != nil)
	}
}
