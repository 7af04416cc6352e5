// Package versions keeps the rules of a database and its data document in its file, the
// history of their changes, and the settings. It writes in the transaction of its caller.
//
// The versions are in the data file, so that a backup and a restore have them together
// with the data that they protect. Their number is bounded: the oldest source is replaced
// by the newest.
package versions

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A Change gives a database new rules.
type Change struct {
	Rules   *rules.Ruleset
	Options Options // that Rules were parsed with
	Author  string  // who changes them, for the history
	Comment string  // why, in their words
	Restore int64   // number of the version whose rules these are; 0: none
	IfHash  string  // Hash of what must be in force; "": whatever is
}

// A Version is one change of a database's rules or of its data document.
type Version struct {
	Number  int64     `json:"version"` // from 1
	Time    time.Time `json:"time"`
	Author  string    `json:"author,omitempty"`
	Comment string    `json:"comment,omitempty"`
	Restore int64     `json:"rollbackOf,omitempty"` // number of the version that it is a copy of
	Hash    string    `json:"hash"`                 // Hash of the source
	Size    int       `json:"size"`                 // of the source, in bytes

	Dialect    string `json:"dialect,omitempty"` // of rules
	Extensions string `json:"extensions,omitempty"`
}

// Hash returns the SHA-256 of a rules text, in hexadecimal.
func Hash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:])
}

func newVersion(c Change, now time.Time) Version {
	source := c.Rules.Source()
	return Version{
		Time:    now.UTC().Truncate(time.Millisecond),
		Author:  c.Author,
		Comment: c.Comment,
		Restore: c.Restore,
		Hash:    Hash(source),
		Size:    len(source),

		Dialect:    c.Options.Dialect(),
		Extensions: c.Options.ExtensionNames(),
	}
}

// Options returns how the version's source is to be read.
func (v Version) Options() Options {
	o, _ := ParseOptions(v.Dialect, v.Extensions) // they are from RulesOptions
	return o
}

// same reports whether two versions have the same effect.
func (v Version) same(w Version) bool {
	return v.Hash == w.Hash && v.Options() == w.Options()
}

// Names of values that the store keeps, and that are not of the history.
const (
	metaRules        = texts("rules")  // source of the rules in force, if any were given
	metaRulesOptions = "rules-options" // how to read it
)

// List returns the versions that are kept, ascending.
func List(tx *store.Tx) ([]Version, error) { return metaRules.list(tx) }

// Add stores the rules of a change as those that the file begins with, and as the next
// version, and lets old versions go. If the last version has the same effect, it is
// returned instead, and isNew is false. It compares with the last version and not with
// all of them: to put earlier rules in force again is a change, and belongs into the
// history.
func Add(tx *store.Tx, c Change, now time.Time) (v Version, isNew bool, err error) {
	v, isNew, err = metaRules.add(tx, newVersion(c, now), c.Rules.Source())
	if err != nil || !isNew {
		return v, isNew, err
	}
	return v, true, putOptions(tx, v)
}

// Put stores a version that Add has made of another store with the same history.
func Put(tx *store.Tx, v Version, source string) error {
	return errors.Join(metaRules.put(tx, v, source), putOptions(tx, v))
}

func putOptions(tx *store.Tx, v Version) error {
	options, err := json.Marshal(v.Options())
	if err != nil {
		return err
	}
	return tx.SetMeta(metaRulesOptions, options)
}

// Given reports whether the file was given rules.
func Given(tx *store.Tx) (bool, error) { return metaRules.given(tx) }

// Find returns a version that is kept and its source.
func Find(tx *store.Tx, number int64) (v Version, source string, err error) {
	return metaRules.find(tx, number)
}

// Rules returns the rules that the file begins with, nil if it was not
// given any.
func Rules(tx *store.Tx) (*rules.Ruleset, error) {
	source, err := tx.Meta(string(metaRules))
	if err != nil {
		return nil, fmt.Errorf("stored rules: %w", err)
	}
	if source == nil {
		return nil, nil
	}
	var o Options
	text, err := tx.Meta(metaRulesOptions)
	if err != nil {
		return nil, fmt.Errorf("stored options of the rules: %w", err)
	}
	if text != nil {
		if err := json.Unmarshal(text, &o); err != nil {
			return nil, fmt.Errorf("stored options of the rules: %w", err)
		}
	}
	return Stored(tx, o, string(source))
}

// Stored returns the rules of a text that some version of Dogwood has accepted. If this version refuses it,
// they deny everything (rules.Refuse), and the indexes stay as they are, which may take long to build.
func Stored(tx *store.Tx, o Options, source string) (*rules.Ruleset, error) {
	r, refused := o.ParseStored(source)
	if refused == nil {
		return r, nil
	}
	all, err := tx.Indexes().All()
	if err != nil {
		return nil, fmt.Errorf("stored rules: %w", err)
	}
	var indexes []rules.IndexDef
	for _, ix := range all {
		indexes = append(indexes, rules.IndexDef(ix))
	}
	return rules.Refuse(source, refused, indexes), nil
}

// Options say how a rules document is to be read. The zero value is
// Firebase's language without extensions. They are comparable.
type Options struct {
	Wilddog bool // the dialect of Wilddog
	lang.Extensions
}

// ParseOptions reads the name of a dialect, firebase or wilddog, and a list
// of extensions, separated by commas. Both may be "".
func ParseOptions(dialect, extensions string) (o Options, err error) {
	switch dialect {
	case "", "firebase":
	case "wilddog":
		o.Wilddog = true
	default:
		return o, fmt.Errorf("unknown dialect %q of rules; there are firebase and wilddog", dialect)
	}
	var names []string
	for name := range strings.SplitSeq(extensions, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	o.Extensions, err = lang.ParseExtensions(names...)
	return o, err
}

// Dialect returns the name of the dialect.
func (o Options) Dialect() string {
	if o.Wilddog {
		return "wilddog"
	}
	return "firebase"
}

// ExtensionNames returns the names of the extensions, separated by commas.
func (o Options) ExtensionNames() string { return strings.Join(o.Extensions.Names(), ",") }

// Parse reads a rules document. The error is rules.Errors.
func (o Options) Parse(source string) (*rules.Ruleset, error) {
	return o.parse(source, false)
}

// ParseStored reads a document that Parse of this or an earlier version accepted. A later
// version of Dogwood may refuse what an earlier one accepted. A database must open with
// its rules all the same.
func (o Options) ParseStored(source string) (*rules.Ruleset, error) {
	return o.parse(source, true)
}

func (o Options) parse(source string, accepted bool) (*rules.Ruleset, error) {
	p := rules.ParseOptions{Extensions: o.Extensions, Accepted: accepted}
	if o.Wilddog {
		p.Dialect = lang.Wilddog
	}
	return rules.ParseWith(source, p)
}
