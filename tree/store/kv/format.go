package kv

import "fmt"

// Formats of files. A file of a later one is refused.
const (
	formatPlain   = "dogwood 1" // no checksums
	formatVersion = "dogwood 2"
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
	case format == formatVersion, format == formatPlain:
		return format, nil
	case format != "":
		return "", fmt.Errorf("%w: format %q, this one reads %q", ErrFormat, format, formatVersion)
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
