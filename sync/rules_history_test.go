package sync

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/versions"
)

const publicRules = `{"rules": {".read": true, ".write": true}}`

// changeTest puts rules in force and returns the version that was made.
func changeTest(t testing.TB, db *Database, c versions.Change, source string) versions.Version {
	t.Helper()
	var err error
	if c.Rules, err = c.Options.Parse(source); err != nil {
		t.Fatal(err)
	}
	v, err := db.ChangeRules(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func historyTest(t testing.TB, db *Database) []versions.Version {
	t.Helper()
	list, err := db.RulesHistory()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestRulesVersions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	open := func() *Database { return openTest(t, Options{File: file, Now: func() time.Time { return now }}) }
	db := open()
	if list := historyTest(t, db); len(list) != 0 {
		t.Errorf("a new database has versions %v", list)
	}
	changeTest(t, db, versions.Change{Author: "ana", Comment: "first"}, publicRules)
	wild := versions.Options{Wilddog: true}
	second := changeTest(t, db, versions.Change{Author: "bob", Options: wild}, `{"rules":{".read":"'ab'.startsWith('a')"}}`)
	if second.Number != 2 {
		t.Errorf("the second version has number %d", second.Number)
	}
	if again := changeTest(t, db, versions.Change{Author: "eve", Options: wild}, db.Rules().Source()); again != second {
		t.Errorf("the same rules once more made %+v", again)
	}
	third := changeTest(t, db, versions.Change{Author: "ana", Restore: 1}, publicRules)
	if third.Number != 3 || third.Restore != 1 {
		t.Errorf("the third version is %+v", third)
	}
	want := []string{
		"3 ana firebase 1 2026-01-02T03:04:05Z",
		"2 bob wilddog 0 2026-01-02T03:04:05Z",
		"1 ana firebase 0 2026-01-02T03:04:05Z first",
	}
	for range 2 { // before and after it was closed
		for i, v := range historyTest(t, db) {
			got := strings.TrimSpace(fmt.Sprintf("%d %s %s %d %s %s", v.Number, v.Author, v.Dialect, v.Restore, v.Time.Format(time.RFC3339), v.Comment))
			if got != want[i] {
				t.Errorf("version %d is %q, want %q", i, got, want[i])
			}
		}
		v, source, err := db.RulesVersion(2)
		if err != nil || !strings.Contains(source, "startsWith") || v.Hash != versions.Hash(source) {
			t.Errorf("version 2 = %+v %q, %v", v, source, err)
		}
		if _, _, err := db.RulesVersion(4); !errors.Is(err, versions.ErrNoVersion) {
			t.Errorf("version 4: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = open()
	}
	if got := db.Rules().Source(); got != publicRules {
		t.Errorf("after it was opened again, the rules are %s", got)
	}
}

// Rules in another dialect are read in it when the database is opened.
func TestStoredDialect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	source := `{"rules":{".write":"newRoot.child('a').exists() && 'ab'.startsWith('a')"}}`
	db := openTest(t, Options{File: file})
	changeTest(t, db, versions.Change{Options: versions.Options{Wilddog: true, Extensions: lang.Extensions{NewRoot: true}}}, source)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openTest(t, Options{File: file})
	if got := db.Rules().Source(); got != source {
		t.Errorf("the rules are %s", got)
	}
	w := putOf(t, "/b", "1")
	w.Caller = Caller{}
	if _, err := db.Write(t.Context(), w); !errors.Is(err, fault.ErrDenied) {
		t.Errorf("write of /b: %v", err)
	}
	w = putOf(t, "/a", "1")
	w.Caller = Caller{}
	if _, err := db.Write(t.Context(), w); err != nil {
		t.Errorf("write of /a: %v", err)
	}
}

// No more than the bounds is kept, and what is kept can be read.
func TestVersionsAreBounded(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{})
	large := strings.Repeat(" ", 900<<10)
	for _, c := range []struct {
		name, padding string
		uploads, kept int
	}{
		{"many", "", versions.Max + 5, versions.Max},
		{"large", large, 20, versions.MaxVersionBytes / (len(publicRules) + 1 + 900<<10)},
		{"many again", "", 2 * versions.Max, versions.Max},
	} {
		for i := range c.uploads {
			changeTest(t, db, versions.Change{}, publicRules+strings.Repeat("\n", 1+i%2)+c.padding)
		}
		list := historyTest(t, db)
		if len(list) != c.kept {
			t.Errorf("%s: %d versions are kept, want %d", c.name, len(list), c.kept)
		}
		for i, v := range list {
			if v.Number != list[0].Number-int64(i) {
				t.Errorf("%s: version %d of the list is %d", c.name, i, v.Number)
			}
			if _, source, err := db.RulesVersion(v.Number); err != nil || versions.Hash(source) != v.Hash || len(source) != v.Size {
				t.Errorf("%s: version %d has %d bytes, want %d; %v", c.name, v.Number, len(source), v.Size, err)
			}
		}
		if _, _, err := db.RulesVersion(list[0].Number - int64(c.kept)); !errors.Is(err, versions.ErrNoVersion) {
			t.Errorf("%s: a version that is no longer kept: %v", c.name, err)
		}
	}
}

// Rules that an earlier version accepted stay in force after an upgrade, and can be
// put in force again, even if an upload of them is refused now.
func TestStoredRulesStayInForce(t *testing.T) {
	const source = `{"rules":{".read":"query.orderByChild == 'members/' + auth.uid"}}`
	if _, err := (versions.Options{}).Parse(source); err == nil {
		t.Fatal("an upload of the rules is accepted")
	}
	r, err := (versions.Options{}).ParseStored(source)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a.db")
	db := openTest(t, Options{File: file})
	if _, err := db.ChangeRules(t.Context(), versions.Change{Rules: r}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db = openTest(t, Options{File: file}); db.Rules().Source() != source {
		t.Errorf("the rules are %s", db.Rules().Source())
	}
}

func TestRulesCompareAndSet(t *testing.T) {
	db := openTest(t, Options{})
	before := versions.Hash(db.Rules().Source())
	first := changeTest(t, db, versions.Change{IfHash: before}, publicRules)
	other, err := rules.Parse(`{"rules":{}}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ChangeRules(t.Context(), versions.Change{Rules: other, IfHash: before}); !errors.Is(err, ErrRulesChanged) {
		t.Errorf("a change of rules that are not in force: %v", err)
	}
	if got := db.Rules().Source(); got != publicRules {
		t.Errorf("after it, the rules are %s", got)
	}
	changeTest(t, db, versions.Change{IfHash: first.Hash}, `{"rules":{}}`)
}

// Default rules are for databases that were given none, and end their listens.
func TestDefaultRules(t *testing.T) {
	closed := parseRules(t, `{"rules":{".read":"false && auth != null"}}`)
	db := openTest(t, Options{})
	listenAs(t, db, "ana", "/a")
	if err := db.SetDefaultRules(t.Context(), closed); err != nil {
		t.Fatal(err)
	}
	if db.Rules() != closed {
		t.Error("the new default rules are not in force")
	}
	if n := db.Stats().Listeners; n != 0 {
		t.Errorf("%d listens go on", n)
	}
	changeTest(t, db, versions.Change{}, publicRules)
	listenAs(t, db, "ana", "/a").Close()
	l := listenAs(t, db, "ana", "/a")
	if err := db.SetDefaultRules(t.Context(), closed); err != nil {
		t.Fatal(err)
	}
	if got := db.Rules().Source(); got != publicRules {
		t.Errorf("default rules replaced those given: %s", got)
	}
	if l.Ended() {
		t.Error("a listen that is allowed was ended")
	}
}

func TestSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	db := openTest(t, Options{File: file})
	for name, value := range map[string]string{"size": "small", "trigger": "true"} {
		if got := db.Setting(name); got != "" {
			t.Errorf("%s is %q before it is set", name, got)
		}
		if err := db.SetSetting(t.Context(), name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.SetSetting(t.Context(), "size", "large"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // before and after it was closed
		if db.Setting("size") != "large" || db.Setting("trigger") != "true" {
			t.Errorf("settings are %v", *db.settings.Load())
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = openTest(t, Options{File: file})
	}
}
