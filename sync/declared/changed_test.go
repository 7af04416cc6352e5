package declared_test

import (
	"fmt"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/declared"
)

// TestChangedDefinition: a definition that replaces one with the same places is built again over what that has
// kept there, also when it is the former text again. Places that were never its own are compared.
func TestChangedDefinition(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	d := openDB(t, open)
	d.set(`users ` + numbered(300, func(i int) string { return fmt.Sprintf(`{"login":"L%d","name":"n%d"}`, i, i) }))
	for _, text := range []string{
		`"logins": {"map": "/users/$u/login", "to": "/logins/{data.val()}"}, "n": {"count": "/users/$u", "to": "/n"}`,
		`"logins": {"map": "/users/$v/login", "to": "/logins/{data.val().toLowerCase()}", "value": "= $v", "unique": true}, "n": {"count": "/users/$u/login", "where": "data.val() != 'L1'", "to": "/n"}`,
		`"logins": {"map": "/users/$u/name", "to": "/logins/{data.val()}", "value": {"of": "= $u"}}, "n": {"sum": "/users/$u", "of": 2, "to": "/n"}`,
	} {
		for range 2 {
			define := text
			list, told := d.preview(t, define)
			d.deploy(define)
			d.ready()
			for _, p := range list {
				if p.Total != 0 {
					t.Errorf("a preview says %s", told)
				}
			}
			d.deploy(`"logins": {"map": "/users/$u/login", "to": "/logins/{data.val()}"}, "n": {"count": "/users/$u", "to": "/n"}`)
			d.ready()
		}
	}
	d.deploy(`"n": {"count": "/users/$u", "to": "/n"}`)
	d.set(`logins/by "hand"`)
	for _, text := range []string{`"value": true`, `"value": 1`} { // it has failed, so the places are not its own
		d.deploy(`"n": {"count": "/users/$u", "to": "/n"}, "logins": {"map": "/users/$u/login", "to": "/logins/{data.val()}", ` + text + `}`)
		if s := d.settled()[1]; s.State != declared.Failed || s.Total == 0 {
			t.Errorf("%s: %+v", text, s)
		}
	}
	d.want("logins/by", `"hand"`)
}
