package sync

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree/store"
)

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

// Bounds of the versions that are kept. The last one always is.
const (
	maxVersions     = 100
	maxVersionBytes = 16 << 20
)

// Names of values that the store keeps. Sources are in slots that are used
// again, so that no more than maxVersions of them are ever there.
const (
	metaRules        = "rules"         // source of the rules in force, if any were given
	metaRulesOptions = "rules-options" // how to read it
	metaHistory      = "rules-versions"
)

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

// RulesHistory returns the versions that are kept, newest first.
func (d *Database) RulesHistory() (list []RulesVersion, err error) {
	err = d.snapshot(func(tx *store.Tx) error {
		list, err = readHistory(tx)
		return err
	})
	slices.Reverse(list)
	return list, err
}

// RulesVersion returns a version and its source. The error is ErrNoVersion or
// one of the store.
func (d *Database) RulesVersion(number int64) (v RulesVersion, source string, err error) {
	err = d.snapshot(func(tx *store.Tx) error {
		h, err := readHistory(tx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(h, func(v RulesVersion) bool { return v.Number == number })
		if i < 0 {
			return fmt.Errorf("%w: %d", ErrNoVersion, number)
		}
		text, err := tx.Meta(metaSource(number))
		v, source = h[i], string(text)
		return err
	})
	return v, source, err
}
