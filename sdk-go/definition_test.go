package dogwood_test

import (
	"errors"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/server/servertest"
)

// An error of a write that declared data refuse has the name of the definition.
func TestDefinitionOfError(t *testing.T) {
	ctx := t.Context()
	const rules = `{"rules":{".read":true,".write":true}}`
	const data = `{"format":"dogwood-data/1","define":{
		"logins":{"map":"/users/$u/login","to":"/logins/{data.val().toLowerCase()}","value":"= $u","unique":true},
		"posts":{"count":"/posts/$u/$p","to":"/stats/$u/posts"}}}`
	s := servertest.New(t, servertest.Options{})
	s.SetRules(rules)
	s.SetData(data)
	db, ana := openWith(t, rules)
	want(t, db.SetData(ctx, data))
	for name, c := range map[string]*dogwood.Client{"network": dial(t, s.URL, quick), "embedded": ana} {
		t.Run(name, func(t *testing.T) {
			login := c.Ref("users/bo/login")
			want(t, c.Ref("users/ana/login").Set(ctx, "Ana"))
			for _, test := range []struct {
				op         string
				err        error
				class      error
				definition string
				text       string
			}{
				{"set", login.Set(ctx, "ANA"), dogwood.ErrConflict, "logins", `set /users/bo/login: taken: logins/ana is taken (by the definition "logins")`},
				{"update", c.Update(ctx, map[string]any{"users/bo/login": "ana"}), dogwood.ErrConflict, "logins", `update /: taken: logins/ana is taken (by the definition "logins")`},
				{"create", login.Create(ctx, "ana"), dogwood.ErrConflict, "logins", `set /users/bo/login: taken: logins/ana is taken (by the definition "logins")`},
				{"kept", c.Ref("stats/ana/posts").Set(ctx, 7), dogwood.ErrPermissionDenied, "posts", `set /stats/ana/posts: permission denied: kept by the definition "posts"`},
			} {
				e := (*dogwood.Error)(nil)
				if !errors.Is(test.err, test.class) || !errors.As(test.err, &e) || e.Definition != test.definition || e.Error() != test.text {
					t.Errorf("%s: %v, want %s", test.op, test.err, test.text)
				}
			}
			want(t, login.Set(ctx, "bo"))
		})
	}
}
