package rulestest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
)

const agreedDocument = `{"format": "dogwood-data/1", "define": {
	"groupsOfUser": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"},
	"members": {"count": "/groups/$g/members/$u", "to": "/sizes/$g"},
	"owned": {"count": "/groups/$g", "to": "/stats/{data.child('owner').val()}/owned"},
	"logins": {"map": "/users/$u/login", "to": "/logins/{data.val().toLowerCase()}", "value": "= $u", "unique": true},
	"spent": {"sum": "/orders/$u/$o", "of": "= data.child('total').val()", "where": "data.child('paid').val() == true", "to": "/spent/$u"},
	"home": {"keep": 2, "at": "/home/$u", "by": ".value", "copyTo": "/old/$u"},
	"tags": {"map": "/tagged/$i", "to": "/tags/{data.val()}"}}}`

const agreedRules = `{"rules": {
	".read": true,
	"groups": {"$g": {".write": "auth.uid == 'ann' || data.child('owner').val() == auth.uid"}},
	"users": {"$u": {".write": "auth.uid == $u || auth.uid == 'ann'", "groups": {"$g": {".validate": "newData.parent().parent().child('login').exists()"}}}},
	"sizes": {".write": "auth.uid == 'ann'", "$g": {".validate": "newData.val() <= 2"}},
	"stats": {"$u": {"owned": {".validate": "newData.val() <= 1"}}},
	"orders": {"$u": {".write": "auth.uid == $u"}},
	"home": {"$u": {".write": "auth.uid == $u", "$p": {".write": "auth != null && newData.val() > 1", ".validate": "newData.val() != 7"}}},
	"old": {"$u": {"$p": {".validate": "newData.val() != 3"}}},
	"tagged": {".write": "auth != null"}, "tags": {".write": "auth.uid == 'ann'"}}}`

// agreedWrites are places of writes, with values for them.
var agreedWrites = map[string][]string{
	"groups":               {"null", `{"g":{"owner":"ann","members":{"ann":true,"bob":true}},"h":{"owner":"bob"}}`},
	"groups/g":             {"null", `{"owner":"ann"}`, `{"owner":"bob","members":{"ann":true,"bob":true,"cat":true}}`},
	"groups/h/owner":       {"null", `"ann"`, `"bob"`, "3"},
	"groups/g/members/ann": {"null", "true", "1"},
	"groups/h/members/bob": {"null", "true"},
	"users/ann":            {"null", `{"login":"X"}`, `{"login":"x","groups":{"g":true}}`},
	"users/ann/login":      {"null", `"X"`, `"y"`, `"a/b"`},
	"users/bob/login":      {"null", `"x"`, `"Y"`},
	"users/bob/groups/g":   {"null", "true", "7"},
	"sizes/g":              {"null", "1", "2", "3"},
	"stats":                {"null", `{"ann":{"owned":1}}`},
	"orders/ann/o1":        {"null", `{"total":2,"paid":true}`, `{"total":3}`},
	"orders/ann":           {"null", `{"o1":{"total":1,"paid":true},"o2":{"total":"no","paid":true}}`},
	"home/ann":             {"null", `{"p1":7,"p2":8,"p3":9}`, `{"p0":0,"p1":1,"p2":2}`},
	"home/ann/p1":          {"null", "1", "9"},
	"home/ann/p2":          {"null", "2", "8"},
	"home/ann/p3":          {"null", "3", "7"},
	"tagged/a":             {"null", `"x"`, `"y"`},
	"tagged/b":             {"null", `"x"`, `"y"`},
	"tags/x":               {"null", "true", "false"},
}

// A world of the tools and a database decide the same writes alike, and hold the same
// afterwards, also where something follows from them.
func TestToolsAndServersAgree(t *testing.T) {
	rs, err := rules.Parse(agreedRules)
	if err != nil {
		t.Fatal(err)
	}
	document, err := derive.Parse(agreedDocument)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for p := range agreedWrites {
		paths = append(paths, p)
	}
	verdicts := make(map[string]int)
	rapid.Check(t, func(r *rapid.T) {
		db, err := dsync.Open(dsync.Options{Rules: rs})
		if err != nil {
			r.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ChangeData(t.Context(), versions.DataChange{Document: document}); err != nil {
			r.Fatal(err)
		}
		world, err := rulestest.World{}.Declare(document)
		if err != nil {
			r.Fatal(err)
		}
		for range rapid.IntRange(1, 30).Draw(r, "writes") {
			op, err := rulestest.OpText{Kind: "update", Path: "/", Value: drawUpdate(r, paths)}.Parse()
			if err != nil {
				continue // places that overlap
			}
			caller := dsync.Caller{}
			switch who := rapid.SampledFrom([]string{"ann", "bob", "admin", ""}).Draw(r, "who"); who {
			case "admin":
				caller, op.Who.Admin = dsync.Admin, true
			case "":
			default:
				caller.Auth = rules.Auth{UID: who, JSON: fmt.Sprintf(`{"uid":%q}`, who)}
				op.Who.Auth = caller.Auth
			}
			verdict := serverVerdict(r, db, caller, op)
			q, err := op.Request(world)
			if err != nil {
				r.Fatal(err)
			}
			if got := toolVerdict(r, rs, q, op); got != verdict {
				r.Fatalf("%s: the tool says %s, the server %s", op.Value, got, verdict)
			}
			if verdicts[verdict]++; verdict == "allow" {
				world = world.After(q.Writes)
			}
			if stored, err := db.Get(t.Context(), dsync.Read{Caller: dsync.Admin}); err != nil || stored != world.Root {
				r.Fatalf("%s: the tool has %s, the server %s %v", op.Value, world.Root.JSON(), stored.JSON(), err)
			}
		}
	})
	for _, v := range []string{"allow", "rules", "declared"} {
		if verdicts[v] == 0 {
			t.Errorf("no write had the verdict %s: %v", v, verdicts)
		}
	}
}

// drawUpdate returns an update of some places below the root.
func drawUpdate(r *rapid.T, paths []string) string {
	var members []string
	for _, p := range rapid.SliceOfNDistinct(rapid.SampledFrom(paths), 1, 3, rapid.ID).Draw(r, "paths") {
		members = append(members, fmt.Sprintf("%q:%s", p, rapid.SampledFrom(agreedWrites[p]).Draw(r, "value")))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// serverVerdict has a database carry out a write.
func serverVerdict(r *rapid.T, db *dsync.Database, caller dsync.Caller, op rulestest.Op) string {
	u, err := tree.ParseUpdate(tree.Root, op.Value, tree.Strict)
	if err != nil {
		r.Fatal(err)
	}
	_, err = db.Write(r.Context(), dsync.Write{Caller: caller, Update: u, Merge: true, Conflicts: true})
	var denied *fault.DeniedError
	switch {
	case err == nil:
		return "allow"
	case errors.As(err, new(*fault.TakenError)), errors.As(err, &denied) && denied.Rule == "" && strings.HasPrefix(denied.Detail, "kept by"):
		return "declared"
	case errors.Is(err, fault.ErrDenied):
		return "rules"
	}
	r.Fatal(err)
	return ""
}

// toolVerdict asks the rules as the tools do.
func toolVerdict(r *rapid.T, rs *rules.Ruleset, q *rules.Request, op rulestest.Op) string {
	d := rules.Decision{Allow: q.Kept == "", Kept: q.Kept}
	if !op.Who.Admin {
		var err error
		if d, err = rs.Check(r.Context(), q); err != nil {
			r.Fatal(err)
		}
		if tr, err := rs.Explain(r.Context(), q); err != nil || tr.Decision != d {
			r.Fatalf("explained: %v, %v; decided: %v", tr, err, d)
		}
	}
	switch {
	case d.Allow:
		return "allow"
	case d.Kept != "":
		return "declared"
	}
	return "rules"
}
