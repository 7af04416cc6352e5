// Package project reads the files of a Firebase project: firebase.json, .firebaserc, and the
// rules documents that they name.
package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/sync/versions"
)

// A RulesSet is the rules that a server begins with, as files say.
type RulesSet struct {
	All   *rules.Ruleset            // of databases that are not in of; nil if the files say nothing
	Of    map[string]*rules.Ruleset // by namespace
	Named []string                  // the namespaces in Of, in the order of the files
	names map[*rules.Ruleset]string // the files that they are from
	files []rulesFile               // all that were read, in that order
}

// A rulesFile is a file as it was when it was read.
type rulesFile struct {
	name, text string
	failed     bool // it could not be read
}

func readRulesFile(name string) (rulesFile, error) {
	text, err := os.ReadFile(name)
	return rulesFile{name, string(text), err != nil}, err
}

// Unchanged reports whether the files are as they were. They are few and small,
// and their times and sizes alone would not show every change.
func (s *RulesSet) Unchanged() bool {
	for _, f := range s.files {
		if now, _ := readRulesFile(f.name); now != f {
			return false
		}
	}
	return true
}

// Name returns the file that rules are from, "" if it is none of these.
func (s *RulesSet) Name(r *rules.Ruleset) string { return s.names[r] }

// A RulesError is what is wrong in a rules document, drawn for people.
type RulesError struct{ text string }

func (e *RulesError) Error() string { return strings.TrimSuffix(e.text, "\n") }

// LoadRules reads a rules document, or those that a firebase.json names. The set
// says which files were read even if there is an error.
func LoadRules(file string, o versions.Options) (*RulesSet, error) {
	s := &RulesSet{Of: make(map[string]*rules.Ruleset), names: make(map[*rules.Ruleset]string)}
	if !IsConfig(file) {
		r, err := s.load(file, o)
		s.All = r
		return s, err
	}
	targets, err := s.Targets(file)
	if err != nil {
		return s, err
	}
	var errs []error
	for _, t := range targets {
		r, err := s.load(t.Rules, o)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%s names rules that are missing: %w", file, err)
			}
			errs = append(errs, err)
			continue
		}
		if len(t.Namespaces) == 0 {
			s.All = r
		}
		for _, ns := range t.Namespaces {
			if s.Of[ns] == nil {
				s.Named = append(s.Named, ns)
			}
			s.Of[ns] = r
		}
	}
	return s, errors.Join(errs...)
}

// Documents returns the rules documents that files are or, each once, that a
// firebase.json among them names.
func Documents(files []string) (list []string, err error) {
	for _, file := range files {
		if !IsConfig(file) {
			list = append(list, file)
			continue
		}
		targets, err := new(RulesSet).Targets(file)
		if err != nil {
			return nil, err
		}
		for _, t := range targets {
			if !slices.Contains(list, t.Rules) {
				list = append(list, t.Rules)
			}
		}
	}
	return list, nil
}

// IsConfig reports whether a file is a configuration of the firebase tools:
// firebase.json, or a variant such as firebase.test.json that is no rules document.
func IsConfig(file string) bool {
	base := filepath.Base(file)
	if base == "firebase.json" || !strings.HasPrefix(base, "firebase") {
		return base == "firebase.json"
	}
	var config map[string]json.RawMessage
	err := new(RulesSet).readConfig(file, &config)
	return err == nil && config["rules"] == nil
}

// read reads a file of the set.
func (s *RulesSet) read(file string) (string, error) {
	f, err := readRulesFile(file)
	s.files = append(s.files, f)
	return f.text, err
}

func (s *RulesSet) load(file string, o versions.Options) (*rules.Ruleset, error) {
	text, err := s.read(file)
	if err != nil {
		return nil, err
	}
	r, err := o.Parse(text)
	if errs := (rules.Errors)(nil); errors.As(err, &errs) {
		return nil, DrawErrors(file, text, errs)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s.names[r] = file
	return r, nil
}

// DrawErrors returns the error that shows what is wrong where in a document.
func DrawErrors(file, text string, errs rules.Errors) error {
	var b strings.Builder
	_ = explain.Errors(&b, file, text, errs) // a Builder takes everything
	return &RulesError{b.String()}
}

// A Target is a rules document and a data document, and the namespaces that they are for,
// none for all of them.
type Target struct {
	Rules      string
	Data       string // "" if there is none
	Namespaces []string
}

// A databaseConfig is an element of "database" in a firebase.json.
type databaseConfig struct {
	Rules    string `json:"rules"`
	Data     string `json:"data"` // not of the firebase tools, which pass over it
	Instance string `json:"instance"`
	Target   string `json:"target"`
}

// Targets reads the documents that a firebase.json names: one for all databases,
// or a list with an instance or a deploy target for each, which stands for the
// instances that the .firebaserc in its directory lists.
func (s *RulesSet) Targets(file string) (list []Target, err error) {
	var config struct {
		Database json.RawMessage `json:"database"`
	}
	if err := s.readConfig(file, &config); err != nil {
		return nil, err
	}
	configs, single, err := databaseConfigs(config.Database)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	dir := filepath.Dir(file)
	for _, c := range configs {
		t := Target{Rules: filepath.Join(dir, c.Rules)}
		if c.Data != "" {
			t.Data = filepath.Join(dir, c.Data)
		}
		switch {
		case c.Rules == "":
			return nil, fmt.Errorf("%s: database: \"rules\" is missing", file)
		case c.Target != "":
			if t.Namespaces, err = s.instances(filepath.Join(dir, ".firebaserc"), c.Target); err != nil {
				return nil, fmt.Errorf("%s: database target %q: %w", file, c.Target, err)
			}
		case c.Instance != "":
			t.Namespaces = []string{c.Instance}
		case !single:
			return nil, fmt.Errorf("%s: database: each of several entries needs an \"instance\" or a \"target\"", file)
		}
		list = append(list, t)
	}
	return list, nil
}

func databaseConfigs(raw json.RawMessage) (list []databaseConfig, single bool, err error) {
	if len(raw) == 0 {
		return nil, false, errors.New(`it has no "database", so it names no rules`)
	}
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, false, misfit("database", err)
		}
		return list, false, nil
	}
	list = make([]databaseConfig, 1)
	if raw[0] != '{' {
		return nil, false, errors.New(`"database" is neither an object nor a list`)
	}
	if err := json.Unmarshal(raw, &list[0]); err != nil {
		return nil, false, misfit("database", err)
	}
	return list, true, nil
}

// instances returns the database instances of a deploy target, in the default
// project or in the only one that there is.
func (s *RulesSet) instances(file, target string) ([]string, error) {
	var config struct {
		Projects map[string]string `json:"projects"`
		Targets  map[string]struct {
			Database map[string][]string `json:"database"`
		} `json:"targets"`
	}
	if err := s.readConfig(file, &config); err != nil {
		return nil, err
	}
	project := config.Projects["default"]
	if _, ok := config.Targets[project]; !ok && len(config.Targets) == 1 {
		for project = range config.Targets {
		}
	}
	list := config.Targets[project].Database[target]
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: project %q has no database target %q", file, project, target)
	}
	return list, nil
}

// readConfig reads a file of the firebase tools, which may have comments.
func (s *RulesSet) readConfig(file string, v any) error {
	text, err := s.read(file)
	if err != nil {
		return err
	}
	doc, err := jsonc.Parse(text)
	if err != nil {
		return fmt.Errorf("%s:%w", file, err)
	}
	if err := json.Unmarshal(jsonc.Strict(doc.Root), v); err != nil {
		return fmt.Errorf("%s: %w", file, misfit("", err))
	}
	return nil
}

// misfit says in plain words which key of a file has a value of the wrong kind. below is
// the key that the file's part was under, "" for the whole file.
func misfit(below string, err error) error {
	e := (*json.UnmarshalTypeError)(nil)
	if !errors.As(err, &e) {
		return err
	}
	keys := slices.DeleteFunc([]string{below, e.Field}, func(s string) bool { return s == "" })
	key, found := strings.Join(keys, "."), strings.Fields(e.Value)[0]
	if key == "" {
		return fmt.Errorf("it is %s, not %s", article(found), article(kindOf(e.Type)))
	}
	return fmt.Errorf("%q must be %s, but is %s", key, article(kindOf(e.Type)), article(found))
}

// kindOf names the kind of JSON that a type is read from.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Int:
		return "whole number"
	case reflect.Slice:
		return "list"
	}
	return "object"
}

// article puts the article before a kind of JSON. encoding/json calls a list an array, and
// a boolean a bool.
func article(kind string) string {
	switch kind {
	case "array", "object":
		return "an " + kind
	case "bool":
		return "true or false"
	}
	return "a " + kind
}

// FindRules returns the rules file of the working directory, "" if it has none.
func FindRules() string {
	for _, name := range []string{"firebase.json", "database.rules.json"} {
		if _, err := os.Stat(name); err != nil {
			continue
		}
		if name == "firebase.json" && !namesRules(name) {
			continue
		}
		return name
	}
	return ""
}

// namesRules reports whether a firebase.json says anything about databases. Most
// projects have one that does not.
func namesRules(file string) bool {
	var config map[string]json.RawMessage
	err := new(RulesSet).readConfig(file, &config)
	return err != nil || config["database"] != nil
}
