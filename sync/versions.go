package sync

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A RulesChange gives a database new rules.
type RulesChange struct {
	Rules   *rules.Ruleset
	Options RulesOptions // that Rules were parsed with
	Author  string       // who changes them, for the history
	Comment string       // why, in their words
	Restore int64        // number of the version whose rules these are; 0: none
	IfHash  string       // RulesHash of what must be in force; "": whatever is
}

// A RulesVersion is one change of a database's rules.
type RulesVersion struct {
	Number  int64     `json:"version"` // from 1
	Time    time.Time `json:"time"`
	Author  string    `json:"author,omitempty"`
	Comment string    `json:"comment,omitempty"`
	Restore int64     `json:"rollbackOf,omitempty"` // number of the version that it is a copy of
	Hash    string    `json:"hash"`                 // RulesHash of the source
	Size    int       `json:"size"`                 // of the source, in bytes

	Dialect    string `json:"dialect"`
	Extensions string `json:"extensions,omitempty"`
}

// RulesHash returns the SHA-256 of a rules text, in hexadecimal.
func RulesHash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:])
}

func newVersion(c RulesChange, now time.Time) RulesVersion {
	source := c.Rules.Source()
	return RulesVersion{
		Time:    now.UTC().Truncate(time.Millisecond),
		Author:  c.Author,
		Comment: c.Comment,
		Restore: c.Restore,
		Hash:    RulesHash(source),
		Size:    len(source),

		Dialect:    c.Options.Dialect(),
		Extensions: c.Options.Extensions(),
	}
}

// Options returns how the version's source is to be read.
func (v RulesVersion) Options() RulesOptions {
	o, _ := ParseRulesOptions(v.Dialect, v.Extensions) // they are from RulesOptions
	return o
}

// same reports whether two versions have the same effect.
func (v RulesVersion) same(w RulesVersion) bool {
	return v.Hash == w.Hash && v.Options() == w.Options()
}

// ErrNoVersion is returned for versions that never were or are no longer kept.
var ErrNoVersion = errors.New("no such version of the rules")

const maxVersions = 100

const metaRules = "rules" // source of the rules in force, if any were given

func metaSource(number int64) string { return fmt.Sprintf("rules-source-%02d", number%maxVersions) }

// A history is the versions that are kept, ascending.
type history []RulesVersion

func readHistory(tx *store.Tx) (h history, err error) {
	text, err := tx.Meta(metaHistory)
	if err != nil {
		return nil, fmt.Errorf("versions of the rules: %w", err)
	}
	if text != nil {
		if err := json.Unmarshal(text, &h); err != nil {
			return nil, fmt.Errorf("versions of the rules: %w", err)
		}
	}
	return h, nil
}

// last returns the newest version, the zero one if there is none.
func (h history) last() RulesVersion {
	if len(h) == 0 {
		return RulesVersion{}
	}
	return h[len(h)-1]
}

// add stores the next version, which gets its number, and lets old ones go.
func (h history) add(tx *store.Tx, v RulesVersion, source string) (RulesVersion, error) {
	v.Number = h.last().Number + 1
	kept := append(slices.Clone(h), v)
	bytes := 0
	for _, k := range kept {
		bytes += k.Size
	}
	for len(kept) > 1 && (len(kept) > maxVersions || bytes > maxVersionBytes) {
		if err := tx.SetMeta(metaSource(kept[0].Number), nil); err != nil {
			return v, err
		}
		bytes -= kept[0].Size
		kept = kept[1:]
	}
	if err := tx.SetMeta(metaSource(v.Number), []byte(source)); err != nil {
		return v, err
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return v, err
	}
	return v, tx.SetMeta(metaHistory, text)
}

// storeRules makes a change's rules those that the file begins with.
func storeRules(tx *store.Tx, c RulesChange) error {
	options, err := json.Marshal(c.Options)
	if err != nil {
		return err
	}
	if err := tx.SetMeta(metaRulesOptions, options); err != nil {
		return err
	}
	return tx.SetMeta(metaRules, []byte(c.Rules.Source()))
}

// storedRules returns the rules that the file begins with, nil if it was not
// given any.
func storedRules(tx *store.Tx) (*rules.Ruleset, error) {
	source, err := tx.Meta(metaRules)
	if err != nil {
		return nil, fmt.Errorf("stored rules: %w", err)
	}
	if source == nil {
		return nil, nil
	}
	var o RulesOptions
	text, err := tx.Meta(metaRulesOptions)
	if err != nil {
		return nil, fmt.Errorf("stored options of the rules: %w", err)
	}
	if text != nil {
		if err := json.Unmarshal(text, &o); err != nil {
			return nil, fmt.Errorf("stored options of the rules: %w", err)
		}
	}
	r, err := o.ParseStored(string(source))
	if err != nil {
		return nil, fmt.Errorf("stored rules: %w", err)
	}
	return r, nil
}

// RulesOptions say how a rules document is to be read. The zero value is
// Firebase's language without extensions. They are comparable.
type RulesOptions struct {
	Wilddog bool // the dialect of Wilddog
	NewRoot bool // the extension newRoot, the tree after the write
}

// ParseRulesOptions reads the name of a dialect, firebase or wilddog, and a list
// of extensions, separated by commas. Both may be "".
func ParseRulesOptions(dialect, extensions string) (o RulesOptions, err error) {
	switch dialect {
	case "", "firebase":
	case "wilddog":
		o.Wilddog = true
	default:
		return o, fmt.Errorf("unknown dialect %q of rules; there are firebase and wilddog", dialect)
	}
	for name := range strings.SplitSeq(extensions, ",") {
		switch strings.TrimSpace(name) {
		case "":
		case "newRoot":
			o.NewRoot = true
		default:
			return o, fmt.Errorf("unknown extension %q of rules; there is newRoot", name)
		}
	}
	return o, nil
}

// Dialect returns the name of the dialect.
func (o RulesOptions) Dialect() string {
	if o.Wilddog {
		return "wilddog"
	}
	return "firebase"
}

// Extensions returns the names of the extensions, separated by commas.
func (o RulesOptions) Extensions() string {
	if o.NewRoot {
		return "newRoot"
	}
	return ""
}

// Parse reads a rules document. The error is rules.Errors.
func (o RulesOptions) Parse(source string) (*rules.Ruleset, error) {
	return o.parse(source, false)
}

// ParseStored reads a document that Parse of this or an earlier version accepted.
func (o RulesOptions) ParseStored(source string) (*rules.Ruleset, error) {
	return o.parse(source, true)
}

func (o RulesOptions) parse(source string, accepted bool) (*rules.Ruleset, error) {
	p := rules.ParseOptions{NewRoot: o.NewRoot, Accepted: accepted}
	if o.Wilddog {
		p.Dialect = lang.Wilddog
	}
	return rules.ParseWith(source, p)
}
