package rulesmutate

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

var record = flag.Bool("record", false, "record that the tests of the data models kill all mutants")

// TestModels mutates the rules of the data models: their tests kill every mutant
// but those that they explain, and explain none that they kill.
//
// The files whose mutants have all been tried are on record, by a hash of the rules, their
// tests and data, and the mutants. For these the lower tiers try only some mutants, which
// shows that rules are still evaluated in the same way. To record the files as they are:
//
//	go test ./rules/rulesmutate -run TestModels -record
func TestModels(t *testing.T) {
	tier.Need(t, tier.Full)
	tried := newRecord(t)
	files, err := filepath.Glob("../../testdata/models/*/ops.json")
	if err != nil || len(files) != 6 {
		t.Fatalf("%d models: %v", len(files), err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m := newMutatedModel(t, dir)
			m.try(t, tried.share(m))
			tried.add(m)
		})
	}
	if *record && !t.Failed() {
		tried.save(t)
	}
}

// A mutatedModel is a data model and the mutants of its rules.
type mutatedModel struct {
	name    string
	hash    string
	suites  []*rulestest.Suite
	mutants []*Mutant
}

func newMutatedModel(t *testing.T, dir string) *mutatedModel {
	t.Helper()
	m := &mutatedModel{name: filepath.Base(dir)}
	all, err := rulestest.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, file := range all {
		s, err := rulestest.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if s.Document != nil { // of the second form, which has rules of its own
			continue
		}
		files, m.suites = append(files, file), append(m.suites, s)
	}
	if m.mutants, err = Mutants(&m.suites[0].Rules); err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	for _, mutant := range m.mutants {
		io.WriteString(hash, mutant.Text)
	}
	for _, file := range append(files, filepath.Join(dir, "data.json")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		hash.Write(text)
	}
	m.hash = fmt.Sprintf("%x", hash.Sum(nil))[:16]
	return m
}

// try tries one in share of the mutants.
func (m *mutatedModel) try(t *testing.T, share int) {
	t.Helper()
	var some []*Mutant
	for i := 0; i < len(m.mutants); i += share {
		some = append(some, m.mutants[i])
	}
	r, err := try(t.Context(), &m.suites[0].Rules, m.suites, some, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range r.Results {
		if res.Fate == Survived {
			t.Errorf("%s: %s: %s -> %s survives", res.Rule.Path, res.Kind, res.From, res.To)
		}
	}
	for _, ig := range r.Stale {
		if share == 1 {
			t.Errorf("%s: %s: %s -> %s is explained and does not survive", ig.Rule, ig.Mutant, ig.From, ig.To)
		}
	}
	t.Logf("%d of %d mutants: %d killed, %d explained", len(some), len(m.mutants), r.Count(Killed), r.Count(Explained))
}

// recordFile has a line for each model: its name and its hash.
const recordFile = "../../testdata/models/mutants.txt"

// A triedRecord is what recordFile says, and what has been tried since.
type triedRecord struct {
	text string
	now  strings.Builder
}

func newRecord(t *testing.T) *triedRecord {
	t.Helper()
	text, err := os.ReadFile(recordFile)
	if err != nil {
		t.Fatal(err)
	}
	return &triedRecord{text: string(text)}
}

// share returns which part of a model's mutants has to be tried: one in so many.
func (r *triedRecord) share(m *mutatedModel) int {
	if *record || !strings.Contains(r.text, m.line()) {
		return 1
	}
	return tier.Pick(180, 180, 1)
}

func (m *mutatedModel) line() string { return m.name + " " + m.hash + "\n" }

func (r *triedRecord) add(m *mutatedModel) { r.now.WriteString(m.line()) }

func (r *triedRecord) save(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(recordFile, []byte(r.now.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
