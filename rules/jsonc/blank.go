package jsonc

import "strings"

// blank returns the text with the line breaks and tabs inside its strings
// replaced by blanks, since hujson refuses them, and the offset of the bracket
// that nests too deeply, or -1.
func blank(text string) (out []byte, tooDeep int) {
	out = []byte(text)
	depth := 0
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = blankString(text, out, i)
			continue
		case '/':
			if end := commentEnd(text, i); end > 0 {
				i = end
				continue
			}
		case '{', '[':
			if depth++; depth > maxDepth {
				return out, i
			}
		case '}', ']':
			depth--
		}
		i++
	}
	return out, -1
}

// blankString blanks the string that starts at start and returns its end.
func blankString(text string, out []byte, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			i++
		case c == '\n', c == '\t', c == '\r' && strings.HasPrefix(text[i:], "\r\n"):
			out[i] = ' '
		}
	}
	return len(text)
}

// commentEnd returns the end of the comment at i, or 0 if there is none.
func commentEnd(s string, i int) int {
	end := -1
	switch {
	case strings.HasPrefix(s[i:], "//"):
		if end = strings.IndexByte(s[i:], '\n'); end >= 0 {
			return i + end + 1
		}
	case strings.HasPrefix(s[i:], "/*"):
		if end = strings.Index(s[i+2:], "*/"); end >= 0 {
			return i + 2 + end + 2
		}
	default:
		return 0
	}
	return len(s)
}
