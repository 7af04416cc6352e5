package declared_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

const first = `
	// both sides
	"groupsOfUser": { "map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g" },
	"members": { "count": "/groups/$g/members/$u", "to": "/sizes/$g" },
	"ownedGroups": { "count": "/groups/$g", "to": "/stats/{data.child('owner').val()}/ownedGroups" },
	"logins": { "map": "/users/$u/login", "to": "/logins/{data.val().toLowerCase()}", "value": "= $u", "unique": true },
	"spent": { "sum": "/orders/$u/$o", "of": "= data.child('total').val()", "to": "/spent/$u" },
	"home": { "keep": 3, "at": "/home/$u", "by": ".value" },
	"tags": { "map": "/tagged/$i", "to": "/tags/{data.val()}" },`

// A db is a database with a log in a directory.
type db struct {
	testing.TB
	*dsync.Database
	log   *logged.Log
	dir   string
	rules string
	now   func() time.Time // nil: the time
}

const open = `{"rules": {".read": true, ".write": true}}`

func openDB(t testing.TB, rules string) *db {
	t.Helper()
	d := &db{TB: t, dir: t.TempDir(), rules: rules}
	d.open()
	t.Cleanup(func() { d.close() })
	return d
}

func (d *db) open() {
	d.Helper()
	rs, err := rules.Parse(d.rules)
	if err != nil {
		d.Fatal(err)
	}
	if d.log, err = logged.OpenLog(store.LogDir(d.dir), logged.LogOptions{}); err != nil {
		d.Fatal(err)
	}
	d.Database, err = dsync.Open(dsync.Options{File: filepath.Join(d.dir, "db"), Rules: rs, Now: d.now, ScrubEvery: -1, Store: store.Options{Log: d.log, NoSync: true}})
	if err != nil {
		d.Fatal(err)
	}
}

func (d *db) close() {
	d.Helper()
	findings, err := d.Check()
	if err := errors.Join(append(findings, err, d.Database.Close(), d.log.Close())...); err != nil {
		d.Error(err)
	}
}

func documentOf(define string) string {
	return `{"format": "dogwood-data/1", "define": {` + define + `}}`
}

func (d *db) deploy(define string) {
	d.Helper()
	doc, err := derive.Parse(documentOf(define))
	if err != nil {
		d.Fatal(err)
	}
	if _, err := d.ChangeData(d.Context(), versions.DataChange{Document: doc}); err != nil {
		d.Fatal(err)
	}
}

// update writes several places below the root: "path value".
func (d *db) update(caller dsync.Caller, lines ...string) (*dsync.Commit, error) {
	d.Helper()
	var members []string
	for _, line := range lines {
		path, value, _ := strings.Cut(line, " ")
		members = append(members, fmt.Sprintf("%q: %s", path, value))
	}
	u, err := tree.ParseUpdate(tree.Root, "{"+strings.Join(members, ",")+"}", tree.Strict)
	if err != nil {
		d.Fatal(err)
	}
	return d.Write(d.Context(), dsync.Write{Caller: caller, Update: u, Merge: true, Conflicts: true})
}

func (d *db) set(lines ...string) {
	d.Helper()
	if _, err := d.update(user("ann"), lines...); err != nil {
		d.Fatal(lines, err)
	}
}

func user(uid string) dsync.Caller {
	return dsync.Caller{Auth: rules.Auth{UID: uid, JSON: fmt.Sprintf(`{"uid":%q}`, uid)}}
}

func (d *db) want(path, value string) {
	d.Helper()
	n, err := d.Get(d.Context(), dsync.Read{Caller: dsync.Admin, Path: tree.MustParsePath(path)})
	if err != nil || n.JSON() != value {
		d.Errorf("%s = %s, %v; want %s", path, n.JSON(), err, value)
	}
}

// Each kind keeps its places in the commit of a write, and over a restart.
func TestKinds(t *testing.T) {
	d := openDB(t, open)
	d.deploy(first)
	d.set(`groups/g {"owner": "ann", "members": {"ann": true, "bob": true}}`, `users/ann/login "Ann"`, `tagged {"a": "x", "b": "x", "c": "y"}`)
	d.set(`orders/ann {"o1": {"total": 2.5}, "o2": {"total": 4}, "o3": {"total": "no"}}`, `home/ann {"p1": 1, "p2": 2, "p3": 3, "p4": 4}`)
	check := func() {
		t.Helper()
		d.want("users", `{"ann":{"groups":{"g":true},"login":"Ann"},"bob":{"groups":{"g":true}}}`)
		d.want("sizes", `{"g":2}`)
		d.want("stats", `{"ann":{"ownedGroups":1}}`)
		d.want("logins", `{"ann":"ann"}`)
		d.want("spent", `{"ann":6.5}`)
		d.want("home", `{"ann":{"p2":2,"p3":3,"p4":4}}`)
		d.want("tags", `{"x":true,"y":true}`)
	}
	check()
	d.close()
	d.open()
	check()
	d.set(`groups/g/members/bob null`, `groups/g/owner "bob"`, `orders/ann/o1 null`, `home/ann/p0 0`, `tagged/a null`)
	d.want("users", `{"ann":{"groups":{"g":true},"login":"Ann"}}`)
	d.want("sizes", `{"g":1}`)
	d.want("stats", `{"bob":{"ownedGroups":1}}`)
	d.want("spent", `{"ann":4}`)
	d.want("home", `{"ann":{"p2":2,"p3":3,"p4":4}}`)
	d.want("tags", `{"x":true,"y":true}`)
	d.set(`tagged null`, `groups null`, `home/ann/p5 5`)
	d.want("tags", "null")
	d.want("sizes", "null")
	d.want("users", `{"ann":{"login":"Ann"}}`)
	d.want("home", `{"ann":{"p3":3,"p4":4,"p5":5}}`)
}

// A client may say about a target what follows, and nothing else.
func TestRefusals(t *testing.T) {
	d := openDB(t, `{"rules": {".read": true, "groups": {".write": "auth.uid == 'ann'"}, "users": {".write": "auth.uid == 'ann'"}, "sizes": {".write": "auth.uid == 'ann'", "$g": {".validate": "newData.val() <= 2"}},
		"logins": {".write": false}}}`)
	d.deploy(first)
	for _, c := range []struct {
		uid, want string
		lines     []string
	}{
		{"ann", "", []string{`groups/g/members/ann true`, `users/ann/groups/g true`}},
		{"ann", "", []string{`groups/g/members/ann true`, `users/ann/groups/g true`, `groups/g/members/bob true`}},
		{"ann", `permission denied: kept by the definition "groupsOfUser"`, []string{`users/ann/groups/h true`}},
		{"ann", `permission denied: kept by the definition "members"`, []string{`sizes/g 7`}},
		{"ann", `permission denied: /sizes/$g/.validate refuses what follows by the definition "members"`, []string{`groups/g/members/cat true`}},
		{"bob", "permission denied", []string{`groups/g/members/ann true`}},
		{"bob", "permission denied", []string{`users/ann/groups/h true`}},
		{"bob", "permission denied", []string{`sizes/g 2`}},
		{"ann", "", []string{`users/ann/login "X"`}},
		{"ann", "", []string{`users/ann/login "X"`, `logins/x "ann"`}},
		{"ann", "permission denied", []string{`logins/x "ann"`}},
		{"ann", "logins/x is taken", []string{`users/bob/login "x"`, `groups/h/owner "ann"`}},
		{"bob", "permission denied", []string{`users/bob/login "x"`}},
	} {
		_, err := d.update(user(c.uid), c.lines...)
		if got := fmt.Sprint(err); got != c.want && (c.want != "" || err != nil) {
			t.Errorf("%s %v: %v, want %s", c.uid, c.lines, err, c.want)
		}
	}
	if _, err := d.update(user("ann"), `users/bob/login "x"`); !errors.As(err, new(*fault.TakenError)) {
		t.Error(err)
	}
	d.want("groups", `{"g":{"members":{"ann":true,"bob":true}}}`)
	c, err := d.update(dsync.Admin, `sizes {"g": 9, "h": 1}`, `users/bob/groups/h true`)
	if err != nil || c.Kept != 3 {
		t.Error(c, err)
	}
	d.want("sizes", `{"g":2}`)
	d.want("users/bob", `{"groups":{"g":true}}`)
}
