package ruleslint

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
)

func access(t *testing.T, src string) (list []string) {
	t.Helper()
	r, err := rules.Parse(src)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	found, err := FindAccess(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range found {
		text := fmt.Sprintf("%s %s", a.Rule.Kind, a.Node())
		if a.SignedIn {
			text += " user"
		}
		if a.Invalid {
			text += " invalid"
		}
		list = append(list, text)
	}
	return list
}

func TestFindAccess(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string
	}{
		{`{".read":true,".write":true}`, []string{".read /", ".write /"}},
		{`{".read":"auth != null","a":{".write":false}}`, []string{".read / user"}},
		{`{"rooms":{"$room":{".write":"data.child('owner').val() == auth.uid"}}}`, []string{".write /rooms/$room"}},
		{`{"rooms":{"$room":{".write":"newData.child('owner').val() == auth.uid"}}}`, []string{".write /rooms/$room"}},
		{`{"rooms":{"$room":{".write":"auth != null && data.child('owner').val() == auth.uid"}}}`, nil},
		{`{"rooms":{"$room":{".write":"auth != null && !data.exists()"}}}`, []string{".write /rooms/$room user"}},
		{`{"rooms":{"$room":{".write":"!newData.exists()"}}}`, []string{".write /rooms/$room"}},
		{`{"rooms":{"$room":{".write":"data.exists() == newData.exists()"}}}`, nil},
		{`{"users":{"$uid":{".read":"auth.uid == $uid",".write":"auth.uid == $uid"}}}`, nil},
		{`{"users":{"$uid":{".write":"auth.uid != $uid"}}}`, []string{".write /users/$uid"}},
		{`{"a":{".write":"newData.child('public').val() == true"}}`, []string{".write /a"}},
		{`{"a":{".write":"newData.child('n').isNumber() && newData.child('n').val() <= now"}}`, []string{".write /a"}},
		{`{"a":{".write":"newData.hasChildren(['x','y/z'])"}}`, []string{".write /a"}},
		{`{"a":{".write":"newData.val() == 'magic'"}}`, []string{".write /a"}},
		{`{"a":{".write":"newData.exists()",".validate":"newData.val() == 71 * 13"}}`, []string{".write /a invalid"}},
		{`{"a":{".write":"newData.exists()",".validate":"newData.val() == 7"}}`, []string{".write /a"}},
		{`{"a":{".read":"query.orderByChild == 'owner' && query.equalTo == auth.uid"}}`, nil},
		{`{"a":{".read":"query.limitToFirst <= 10"}}`, []string{".read /a"}},
		{`{"a":{".read":"query.limitToLast <= 10"}}`, []string{".read /a"}},
		{`{"a":{".read":"query.orderByPriority"}}`, []string{".read /a"}},
		{`{"a":{".read":true,"b":{".read":true}}}`, []string{".read /a"}},
		{`{"a":{".read":"auth.token.admin == true"}}`, nil},
		{`{"a":{".read":"auth.uid == 'ann'"}}`, nil},
	} {
		if got := access(t, `{"rules":`+c.src+`}`); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.src, got, c.want)
		}
	}
	src := `{"rules":{
		// lint:ignore open-write a guest book
		"a":{".write":true}, "b":{
			".write":true, ".read":true }}}`
	if got := access(t, src); !slices.Equal(got, []string{".write /b", ".read /b"}) {
		t.Errorf("with an ignored rule: %q", got)
	}
}
