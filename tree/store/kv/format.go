package kv

import "fmt"

// Formats of files. A file of a later one is refused.
const (
	formatPlain   = "dogwood 1" // no checksums
	formatVersion = "dogwood 2"
	formatLogged  = "dogwood 3" // of formatVersion, and commits are missing that a log has
)

// formatKey is the entry of bucket m that says what format a file has.
var formatKey = []byte("format")

// ReadFormat returns the format of a file, which is one that this version reads, or
// none in a new one.
func ReadFormat(k Tx) (string, error) {
	v, err := k.Get(Meta, formatKey)
	switch format := string(v); {
	case err != nil:
		return "", err
	case format == formatVersion, format == formatPlain, format == formatLogged:
		return format, nil
	case format != "":
		return "", fmt.Errorf("%w: format %q, this one reads up to %q", ErrFormat, format, formatLogged)
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
	v, err := k.Get(Meta, formatKey)
	return string(v) == formatLogged, err
}

// SetNeedsLog has a file say whether commits are missing that are in a log. Versions that
// know no logs refuse it then.
func SetNeedsLog(k Tx, needs bool) error {
	if needs {
		return k.Put(Meta, formatKey, []byte(formatLogged))
	}
	return k.Put(Meta, formatKey, []byte(formatVersion))
}
