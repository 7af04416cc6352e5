package lang_test

import (
	"testing"

	"github.com/dogwooddb/dogwood/rules/lang"
)

func TestMeant(t *testing.T) {
	scope := lang.Scope{Captures: []string{"$room"}, NewData: true}
	for src, want := range map[string]string{
		"auht != null":              "auth",
		"newDate.exists()":          "newData",
		"data.exist()":              "exists",
		"data.hasChildern(['a'])":   "hasChildren",
		"data.chlid('a').exists()":  "child",
		"data.val().lenght > 1":     "length",
		"$rom == 'a'":               "$room",
		"query.orderBychild == 'a'": "orderByChild",
		"auth.uid.contain('a')":     "contains",
		"$room.startsWith('a')":     "beginsWith",
		"auth.uid.startsWith('a')":  "beginsWith",
		"data.startsWith('a')":      "val().beginsWith",
		"newData.length > 1":        "val().length",
		"request.auth != null":      "auth",
		"request.auth.uid == 'a'":   "auth",
		"request.time > 1":          "now",
		"request.resource == null":  "newData",
		"request == 1":              "auth",
		"resource.data == null":     "data",
		"resource == null":          "data",
		"auth == nul":               "null",
		"auth != nill":              "null",
		"ture":                      "true",
		"True":                      "true",
		"fales":                     "false",
		"room == 'a'":               "$room",
		"$y == 'a'":                 "$room",
		"undefined == 1":            "null",
		"foo == 1":                  "",
		"x == 1":                    "",
		"auth.uid.length() > 1":     "",
		"data.val() + true == 1":    "",
	} {
		x, err := lang.Parse(src, lang.Firebase)
		if err == nil {
			err = lang.Check(x, scope)
		}
		if err == nil || err.Meant != want {
			t.Errorf("%s: %+v, want %q meant", src, err, want)
		}
	}
	for src, captures := range map[string][]string{
		"$y == 'a'": {"$a", "$b"}, // which of them?
		"$x == 'a'": nil,
	} {
		x, err := lang.Parse(src, lang.Firebase)
		if err == nil {
			err = lang.Check(x, lang.Scope{Captures: captures})
		}
		if err == nil || err.Meant != "" {
			t.Errorf("%s with %q: %+v", src, captures, err)
		}
	}
	if x, err := lang.Parse("newDat.exists()", lang.Firebase); err != nil || lang.Check(x, lang.Scope{}).Meant == "newData" {
		t.Error("newData is suggested where it does not exist")
	}
}

func TestNearest(t *testing.T) {
	keys := []string{".read", ".write", ".validate", ".indexOn", ".limit"}
	for name, want := range map[string]string{
		".wirte": ".write", "write": ".write", ".reed": ".read", ".indexon": ".indexOn", ".valdiate": ".validate",
		".r": "", "rooms": "", ".priority": "", "": "",
	} {
		if got := lang.Nearest(name, keys); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
