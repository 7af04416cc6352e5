package rulesfmt

import (
	"testing"

	"github.com/dogwooddb/dogwood/rules/lang"
)

func TestFormatLimit(t *testing.T) {
	got, err := Format(`{"rules":{"m":{"$r":{".read":"auth!=null",".limit":  100}}}}`, lang.Dialect(0))
	const want = `{ "rules": { "m": { "$r": { ".read": "auth != null", ".limit": 100 } } } }` + "\n"
	if err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}
