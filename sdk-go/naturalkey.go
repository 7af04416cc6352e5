package dogwood

import (
	"fmt"
	"strings"
	"time"
)

// EscapeKey returns a text as a key: what keys must not have, and %, is
// percent-encoded. UnescapeKey is the way back. An empty text is no key, nor is one
// that has more than 768 bytes then.
func EscapeKey(text string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= 0x20 && c != 0x7F && !strings.ContainsRune(".$#[]/%", rune(c)) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// UnescapeKey returns the text that EscapeKey made a key of. The error is ErrValue if
// that can't be.
func UnescapeKey(key string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(key); i++ {
		if key[i] != '%' {
			b.WriteByte(key[i])
			continue
		}
		if i+2 >= len(key) {
			return "", fmt.Errorf("%w: the key %q ends within an escape", ErrValue, key)
		}
		high, low := unhex(key[i+1]), unhex(key[i+2])
		if high < 0 || low < 0 {
			return "", fmt.Errorf("%w: the key %q has a %% without two hexadecimal digits", ErrValue, key)
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	return b.String(), nil
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}

// timeKey is ISO 8601, which allows a comma where keys must not have a point.
const timeKey = "2006-01-02T15:04:05,000000Z"

// TimeKey returns a time as a key, in UTC and to the microsecond:
// "2014-03-06T02:05:13,223556Z". Such keys sort by time.
func TimeKey(t time.Time) string { return t.UTC().Format(timeKey) }

// ParseTimeKey returns the time of a key in ISO 8601, with any number of digits
// behind the comma, or none. The error is ErrValue if the key is no time.
func ParseTimeKey(key string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, strings.Replace(key, ",", ".", 1))
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: the key %q is no time", ErrValue, key)
	}
	return t, nil
}
