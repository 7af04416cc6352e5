package rulestest

import (
	"maps"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// DefaultNow is the clock of steps that give none, in milliseconds since 1970.
const DefaultNow = 1234567890123

// A Suite is one test file.
//
// It is what all three formats become, and nothing in it says which one it was.
// Running it changes nothing in it, so one Suite may be run with many rulesets
// at the same time.
type Suite struct {
	File       string // as it was given
	Rules      Source
	Document   *derive.Document // that declares data; nil if there is none
	Declared   string           // the file of Document; "" if it stands in the test file
	Actors     map[string]Actor
	Groups     []*Group
	Invariants []*Invariant
	Ignore     []IgnoredMutant
}

// Names returns the names of the actors in alphabetical order.
func (s *Suite) Names() []string { return slices.Sorted(maps.Keys(s.Actors)) }

// World returns what a group begins with: its data, and what follows from them by the
// suite's data document.
func (s *Suite) World(g *Group) (World, error) { return World{Root: g.Data}.Declare(s.Document) }

// A Source is a rules document to be tried.
type Source struct {
	File    string // "" if it stands in the test file
	Text    string
	Options rules.ParseOptions
}

// A Group is a series of steps on one tree. The first begins with Data; each
// later one with what the committed steps before it left.
type Group struct {
	Name     string // "" for the tests at the top of a file
	Data     tree.Node
	DataFile string  // where Data comes from; "" if it stands in the test file
	Rules    *Source // in place of the suite's; nil for most
	Steps    []*Step
}

// A Step is one operation with what is expected of it. Later steps may rest on
// what it commits, so a step cannot be run without those in front of it: see
// Runner.
type Step struct {
	Name   string
	Line   int    // in the file
	Skip   string // why it is not run; "" if it is
	Op     Op
	Want   Want
	Commit bool // an accepted write stays for the steps after it
}

// An IgnoredMutant explains why no test can tell mutants of a rule from it. The
// empty fields fit every mutant.
type IgnoredMutant struct {
	Rule   string `json:"rule"`   // "/rooms/$room/.write"
	Mutant string `json:"mutant"` // the kind: "drop-operand"
	From   string `json:"from"`   // the expression that is changed
	To     string `json:"to"`     // what it becomes
	Why    string `json:"why"`
}

// An Actor is who acts: a caller of the rules, or an administrator, whom they
// do not apply to.
type Actor struct {
	Auth  rules.Auth
	Admin bool
}

// JSON returns the variable auth as JSON, "null" for a signed-out caller.
func (a Actor) JSON() string {
	switch {
	case a.Admin:
		return `{"admin":true}`
	case a.Auth.IsNull():
		return "null"
	}
	return a.Auth.JSON
}

// AddTo returns the actors with a, unless it is among them.
func (a Actor) AddTo(actors []Actor) []Actor {
	if slices.ContainsFunc(actors, func(b Actor) bool { return a.JSON() == b.JSON() }) {
		return actors
	}
	return append(actors, a)
}

// A Kind is what a step does.
type Kind int

// The kinds of steps.
const (
	Read       Kind = iota // read a path, or fields below it
	Write                  // replace the value at a path
	Update                 // write several paths below a path at once
	Events                 // compare what a listener got since the last time
	Invariants             // compare which invariants are broken
)

// String returns the word that test files use.
func (k Kind) String() string {
	return [...]string{"read", "write", "update", "events", "check"}[k]
}

// An Op is what a step does.
//
// It has everything that a Request needs except the data. The texts are kept as
// they were written, because reports and suggestions print them again.
type Op struct {
	Kind Kind
	As   string // the actor's name; "" if it has none
	Who  Actor
	Now  int64

	Path     tree.Path // of a read, of a write, or that the paths of an update are below
	Priority bool      // a write of the priority alone
	Fields   []string  // of a read: these paths below Path, each decided on its own
	Query    tree.Query
	Plain    bool   // a read without query parameters
	Socket   bool   // a read over the realtime protocol
	Shallow  bool   // only the keys are returned
	Listener string // of a read: it goes on under this name; of Events: whose events

	Update  tree.Update // of a write: everything it does
	Value   string      // of a write: the JSON it was made from
	Assume  *tree.Node  // of a write: it conflicts unless the value at Path is this
	Returns []string    // of a write: paths whose new values are compared
}

// A Verdict is the outcome of a step.
type Verdict string

// The verdicts.
const (
	Allow        Verdict = "allow"
	Deny         Verdict = "deny"
	Conflict     Verdict = "conflict"      // a conditional write found another value
	CompileError Verdict = "compile-error" // there are no rules to ask
)

// A Want is what is expected of a step. Its empty fields expect nothing. So a
// test says only what it is about, and does not fail when something else
// changes.
type Want struct {
	Verdict Verdict
	Reason  Reason
	Rule    string               // the rule that decides: "/rooms/$room/.read"
	Values  map[string]tree.Node // by field; "" is the path itself
	Order   []string             // the keys of the value, in query order
	Events  []Event
	Broken  []string // the invariants that do not hold
}

// A Reason says why an operation is denied.
type Reason string

// The reasons.
const (
	NoGrant   Reason = "no-grant" // no .read or .write is true
	Invalid   Reason = "validate" // a .validate is not true
	RunError  Reason = "error"    // the rule that decided could not be evaluated
	Unbounded Reason = "limit"    // the read would show more than a .limit allows
	Kept      Reason = "declared" // it contradicts declared data
)

// An Event is a change that a listener is told of.
type Event struct {
	Type  string // "child_added", "child_changed" or "child_removed"
	Key   string
	Value tree.Node
}

// rulePath returns the path of a rule that a test file names: "/rooms/$room .read"
// or "/rooms/$room/.read".
func rulePath(s string) string {
	where, kind, ok := strings.Cut(strings.TrimSpace(s), " ")
	if !ok {
		return where
	}
	return strings.TrimSuffix(where, "/") + "/" + strings.TrimSpace(kind)
}

// String says what the operation is: "write /rooms/r1 as ann".
func (op *Op) String() string {
	s := op.Kind.String() + " " + tree.Target{Path: op.Path, Priority: op.Priority}.String()
	switch {
	case op.As != "":
		return s + " as " + op.As
	case op.Who.Admin:
		return s + " as an administrator"
	}
	return s
}
