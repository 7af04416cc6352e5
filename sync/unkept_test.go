package sync

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree/store"
)

const (
	unkeptRules = `{"rules": {
		"home": {"$u": {".write": "auth.uid == $u", "$s": {
			".write": "data.child('by').val() == auth.uid || newData.child('by').val() == auth.uid",
			".validate": "newData.child('text').isString()"}}},
		"old": {"$u": {"$s": {".validate": "newData.child('n').val() != 13"}}},
		"sizes": {"$u": {".validate": "newData.val() <= 3"}}}}`
	unkeptData = `"home": {"keep": 3, "at": "/home/$u", "copyTo": "/old/$u"}, "sizes": {"count": "/home/$u/$s", "to": "/sizes/$u"}`
	unkeptList = `"k2":{"text":"2"},"k3":{"text":"3"}`
)

// unkeptCases are updates of a list of three. old is what it has lost then.
var unkeptCases = map[string]struct {
	who, update string
	allowed     bool
	old         string
}{
	"below a child that is not there": {"bob", `{"home/ann/-/text": "evil"}`, false, ""},
	"a child":                         {"bob", `{"home/ann/-": {"text": "evil"}}`, false, ""},
	"children":                        {"bob", `{"home/ann/-": {"text": "x", "by": "bob"}, "home/ann/+": {"text": "evil"}}`, false, ""},
	"a child that may be written":     {"bob", `{"home/ann/-": {"text": "x", "by": "bob"}}`, true, `{"-":{"by":"bob","text":"x"}}`},
	"the owner":                       {"ann", `{"home/ann/-/text": "x"}`, true, `{"-":{"text":"x"}}`},
	"an invalid child":                {"ann", `{"home/ann/-": "garbage"}`, false, ""},
	"below an invalid child":          {"ann", `{"home/ann/-/n": 1}`, false, ""},
	"a list with an invalid child":    {"ann", `{"home/ann": {"-": 5, "k1": {"text": "1"},` + unkeptList + `}}`, false, ""},
	"a list":                          {"ann", `{"home/ann": {"-": {"text": "x"}, "k1": {"text": "1"},` + unkeptList + `}}`, true, `{"-":{"text":"x"}}`},
	"a stored child":                  {"bob", `{"home/ann/k1/text": "x", "home/ann/z": {"text": "z", "by": "bob"}}`, false, ""},
	"all of a stored child":           {"bob", `{"home/ann/k1": {"text": "x", "n": 5}, "home/ann/z": {"text": "z", "by": "bob"}}`, false, ""},
	"a field of it goes":              {"bob", `{"home/ann/k1/n": null, "home/ann/z": {"text": "z", "by": "bob"}}`, false, ""},
	"its priority":                    {"bob", `{"home/ann/k1/.priority": 1, "home/ann/z": {"text": "z", "by": "bob"}}`, false, ""},
	"it counts":                       {"bob", `{"home/ann/k1/n": {".sv": {"increment": -1}}, "home/ann/z": {"text": "z", "by": "bob"}}`, false, ""},
	"it goes":                         {"bob", `{"home/ann/k1": null, "home/ann/z": {"text": "z", "by": "bob"}}`, false, ""},
	"it becomes invalid":              {"ann", `{"home/ann/k1/text": 1, "home/ann/z": {"text": "z"}}`, false, ""},
	"a new child alone":               {"bob", `{"home/ann/z": {"text": "z", "by": "bob"}}`, true, `{"k1":{"n":12,"text":"1"}}`},
	"the owner changes both":          {"ann", `{"home/ann/k1/text": "y", "home/ann/z": {"text": "z"}}`, true, `{"k1":{"n":12,"text":"y"}}`},
	"what moves is invalid":           {"ann", `{"home/ann/k1/n": {".sv": {"increment": 1}}, "home/ann/z": {"text": "z"}}`, false, ""},
	"where it moves to":               {"ann", `{"old/ann/k1": {"text": "mine"}, "home/ann/z": {"text": "z"}}`, false, ""},
	"below where it moves to":         {"ann", `{"old/ann/k1/text": "mine", "home/ann/z": {"text": "z"}}`, false, ""},
	"an administrator":                {"owner", `{"home/ann/-": "garbage"}`, true, `{"-":"garbage"}`},
}

// An unkeptTry is one of the updates, to be decided.
type unkeptTry struct {
	*testing.T
	db        *Database
	w         Write
	who, text string
}

// unkeptWays are the ways in which a write is decided.
var unkeptWays = map[string]func(t unkeptTry) error{
	"committer": func(t unkeptTry) error {
		_, err := t.db.carryOut(t.Context(), t.w, true)
		return err
	},
	"large": func(t unkeptTry) error {
		_, err := t.db.writeLarge(t.Context(), t.w, t.db.newSpan(true), new(line))
		return err
	},
	"explained": func(t unkeptTry) error {
		_, err := t.db.ExplainWrite(t.Context(), t.w)
		return err
	},
	"registered": func(t unkeptTry) error {
		return t.db.snapshot(func(tx *store.Tx) error {
			b := &batch{Batch: audience.Batch{Ctx: t.Context(), Tx: tx, Rules: t.db.Rules()}, db: t.db.core, data: t.db.data.Load()}
			return (&registerTask{update: t.w.Update, caller: t.w.Caller}).allow(b)
		})
	},
	"left":           (unkeptTry).leave,
	"tests of rules": (unkeptTry).asTool,
}

// leave has a session leave the update while all may write everything.
func (t unkeptTry) leave() error {
	rs := t.db.Rules()
	if err := t.db.SetRules(t.Context(), rules.Open()); err != nil {
		t.Fatal(err)
	}
	c := connect(t.T, t.db, "a", 0)
	c.send(fmt.Sprintf(`{"r":1,"a":"auth","b":{"cred":%q}}`, tokenOf(t.who)))
	c.send(`{"r":2,"a":"om","b":{"p":"/","d":` + t.text + `}}`)
	c.settle()
	if err := t.db.SetRules(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	before := get(t.T, t.db, "/")
	if c.session.Close(); get(t.T, t.db, "/") == before {
		return fault.ErrDenied
	}
	return nil
}

func tokenOf(who string) string {
	if who == "owner" {
		return who
	}
	return "user " + who
}

// asTool asks the rules as their tests do.
func (t unkeptTry) asTool() error {
	root, err := t.db.Get(t.Context(), Read{Caller: Admin, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	world, err := rulestest.World{Root: root}.Declare(t.db.Data())
	if err != nil {
		t.Fatal(err)
	}
	op := rulestest.Op{Kind: rulestest.Write, Update: t.w.Update, Who: rulestest.Actor{Auth: t.w.Caller.Auth, Admin: t.w.Caller.Admin}}
	q, err := op.Request(world)
	if err != nil || op.Who.Admin {
		return err
	}
	d, err := t.db.Rules().Check(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := t.db.Rules().Explain(t.Context(), q)
	if err != nil || trace.Decision != d {
		t.Errorf("decided %+v, explained %+v, %v", d, trace, err)
	}
	if text := explain.Brief(q, trace); d.Unkept && !d.Allow && !strings.Contains(text, "home") && !strings.Contains(text, "old") {
		t.Errorf("it is explained by %s", text)
	}
	if !d.Allow {
		return fault.ErrDenied
	}
	return nil
}

// TestUnkeptIsDecided: what a client writes to a child that its list does not keep is decided as if the
// list kept it, however the write comes.
func TestUnkeptIsDecided(t *testing.T) {
	for name, c := range unkeptCases {
		for way, decide := range unkeptWays {
			t.Run(name+", "+way, func(t *testing.T) {
				db := openTest(t, Options{Rules: parseRules(t, unkeptRules)})
				declare(t, db, unkeptData)
				set(t, db, "/home/ann", `{"k1":{"text":"1","n":12},`+unkeptList+`}`)
				w := updateOf(t, "/", c.update)
				w.Caller, _, _ = testSignIn(t.Context(), Credential{Token: tokenOf(c.who)})
				before := get(t, db, "/")
				err := decide(unkeptTry{t, db, w, c.who, c.update})
				if (err == nil) != c.allowed || err != nil && !errors.Is(err, fault.ErrDenied) {
					t.Fatalf("%v; allowed: %t", err, c.allowed)
				}
				after := get(t, db, "/")
				switch way {
				case "committer", "large", "left":
					if c.allowed {
						want(t, db, "/old/ann", c.old)
						want(t, db, "/sizes/ann", "3")
						return
					}
				}
				if after != before {
					t.Errorf("%s became %s", before, after)
				}
			})
		}
	}
}

// TestUnkeptIsObserved: observers are told of a refused write what was sent, and callers nothing of
// what would follow.
func TestUnkeptIsObserved(t *testing.T) {
	observer := new(unkeptObserver)
	db := openTest(t, Options{Rules: parseRules(t, unkeptRules), Observer: observer})
	declare(t, db, unkeptData)
	set(t, db, "/home/ann", `{"k1":{"text":"1"},`+unkeptList+`}`)
	w := updateOf(t, "/", `{"home/ann/-/text": "evil"}`)
	w.Caller, _, _ = testSignIn(t.Context(), Credential{Token: "user bob"})
	_, err := db.Write(t.Context(), w)
	if !errors.Is(err, fault.ErrDenied) || strings.Contains(err.Error(), "follows") {
		t.Error(err)
	}
	if got := strings.Join(observer.told, "; "); !strings.HasPrefix(got, "write /home/ann/-/text and ") || !strings.Contains(got, "/home/$u/$s/.write") {
		t.Error(got)
	}
	if observer.sent != 1 {
		t.Errorf("%d writes were sent", observer.sent)
	}
}

type unkeptObserver struct {
	told []string
	sent int
}

func (o *unkeptObserver) Wants(_ *rules.Ruleset, q *rules.Request, _ rules.Decision) bool {
	o.sent = len(q.All().Sent())
	return true
}

func (o *unkeptObserver) Decided(_ *rules.Ruleset, q *rules.Request, t *rules.Trace) string {
	o.told = append(o.told, explain.Brief(q, t))
	return ""
}
