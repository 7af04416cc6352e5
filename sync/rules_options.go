package sync

import (
	"fmt"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/lang"
)

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
