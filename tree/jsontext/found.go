package jsontext

import (
	"fmt"
	"unicode/utf8"
)

// Found names what a text begins with, for errors: its first character or its end.
func Found(rest string) string {
	if rest == "" {
		return "the end of the text"
	}
	c, size := utf8.DecodeRuneInString(rest)
	if c == utf8.RuneError && size == 1 {
		return fmt.Sprintf("the byte %#x", rest[0])
	}
	return fmt.Sprintf("%q", c)
}
