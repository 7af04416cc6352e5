package observe

import "unicode/utf8"

// MaxLogged is how much of a path is logged, and of any other text that a client makes up.
const MaxLogged = 512

// Clipped returns as much of a client's text as is logged.
func Clipped(text string) string { return clip(text, MaxLogged) }

// clip returns the first bytes of a text, up to the end of a character.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
