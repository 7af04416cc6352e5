package kv

import (
	"fmt"
	"slices"
)

// Formats of files. A file of a later one is refused.
const (
	formatPlain   = "dogwood 1" // no checksums
	formatVersion = "dogwood 2"
	formatLogged  = "dogwood 3" // of formatVersion, and commits are missing that a log has

	// These are the two before, of files that have had a data document. A version that does
	// not apply the document would leave what follows from it stale.
	formatDeclared       = "dogwood 4"
	formatDeclaredLogged = "dogwood 5"
)

// formats are those that this version reads.
var formats = []string{formatPlain, formatVersion, formatLogged, formatDeclared, formatDeclaredLogged}

// formatKey is the entry of bucket m that says what format a file has.
var formatKey = []byte("format")

// ReadFormat returns the format of a file, which is one that this version reads, or
// none in a new one.
func ReadFormat(k Tx) (string, error) {
	v, err := k.Get(Meta, formatKey)
	switch format := string(v); {
	case err != nil:
		return "", err
	case slices.Contains(formats, format):
		return format, nil
	case format != "":
		return "", fmt.Errorf("%w: format %q, this one reads up to %q", ErrFormat, format, formats[len(formats)-1])
	}
	for _, b := range Buckets {
		c := k.Cursor(b)
		if k, _ := c.Seek(nil); k != nil || c.Err() != nil {
			return "", fmt.Errorf("%w: there are data, but no format", ErrDamaged)
		}
	}
	return "", nil
}

// WriteFormat makes a new file one of the current format.
func WriteFormat(k Tx) error { return k.Put(Meta, formatKey, []byte(formatVersion)) }

// NeedsLog reports whether commits are missing in a file that are in a log.
func NeedsLog(k Tx) (bool, error) {
	needs, _, err := needsOf(k)
	return needs, err
}

// needsOf returns what the format says: whether commits are missing, and whether there was a
// data document.
func needsOf(k Tx) (log, declared bool, err error) {
	v, err := k.Get(Meta, formatKey)
	format := string(v)
	declared = format == formatDeclared || format == formatDeclaredLogged
	return format == formatLogged || format == formatDeclaredLogged, declared, err
}

// SetNeedsLog has a file say whether commits are missing that are in a log. Versions that
// know no logs refuse it then.
func SetNeedsLog(k Tx, needs bool) error {
	_, declared, err := needsOf(k)
	if err != nil {
		return err
	}
	return setNeeds(k, needs, declared)
}

// SetDeclared has a file say that it has a data document. Versions that apply none refuse it
// from then on. It reports whether the file did not say so before.
func SetDeclared(k Tx) (changed bool, err error) {
	log, declared, err := needsOf(k)
	if err != nil || declared {
		return false, err
	}
	return true, setNeeds(k, log, true)
}

func setNeeds(k Tx, log, declared bool) error {
	format := formatVersion
	switch {
	case log && declared:
		format = formatDeclaredLogged
	case log:
		format = formatLogged
	case declared:
		format = formatDeclared
	}
	return k.Put(Meta, formatKey, []byte(format))
}
