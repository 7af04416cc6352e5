package eval

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// toLower returns s in lower case as JavaScript does: by the mappings of Unicode
// that belong to no language. Package strings maps one character to one; two others
// are missing there: a capital I with a dot, and a sigma that ends a word.
func toLower(s string) string {
	if !strings.ContainsAny(s, "İΣ") {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	cased := false // whether a letter precedes, leaving out ignorable characters
	for i, r := range s {
		switch {
		case r == 'İ':
			b.WriteString("i\u0307")
		case r == 'Σ' && cased && !letterFollows(s[i+len("Σ"):]):
			b.WriteRune('ς')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
		if !isCaseIgnorable(r) {
			cased = isCased(r)
		}
	}
	return b.String()
}

// letterFollows reports whether s begins with a letter that has a case, after any
// number of ignorable characters.
func letterFollows(s string) bool {
	for _, r := range s {
		if !isCaseIgnorable(r) {
			return isCased(r)
		}
	}
	return false
}

// isCased is Unicode's property Cased.
func isCased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Uppercase, unicode.Other_Lowercase)
}

// wordPunctuation are the characters that may stand inside a word.
const wordPunctuation = "'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"

// isCaseIgnorable is Unicode's property Case_Ignorable.
func isCaseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) ||
		strings.ContainsRune(wordPunctuation, r)
}

// toUpper returns s in upper case as JavaScript does: by the mappings of Unicode that
// belong to no language. Some characters become several, which package strings does
// not do.
func toUpper(s string) string {
	first := strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf && longUpper[r] != "" })
	if first < 0 {
		return strings.ToUpper(s)
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	b.WriteString(strings.ToUpper(s[:first]))
	for _, r := range s[first:] {
		if long := longUpper[r]; long != "" {
			b.WriteString(long)
		} else {
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}

// longUpper are the characters that are several in upper case, from Unicode's
// SpecialCasing.
var longUpper = map[rune]string{
	'\u00df': "SS", '\u0149': "\u02bcN", '\u01f0': "J\u030c", '\u0390': "\u0399\u0308\u0301",
	'\u03b0': "\u03a5\u0308\u0301", '\u0587': "\u0535\u0552", '\u1e96': "H\u0331", '\u1e97': "T\u0308",
	'\u1e98': "W\u030a", '\u1e99': "Y\u030a", '\u1e9a': "A\u02be", '\u1f50': "\u03a5\u0313",
	'\u1f52': "\u03a5\u0313\u0300", '\u1f54': "\u03a5\u0313\u0301", '\u1f56': "\u03a5\u0313\u0342", '\u1f80': "\u1f08\u0399",
	'\u1f81': "\u1f09\u0399", '\u1f82': "\u1f0a\u0399", '\u1f83': "\u1f0b\u0399", '\u1f84': "\u1f0c\u0399",
	'\u1f85': "\u1f0d\u0399", '\u1f86': "\u1f0e\u0399", '\u1f87': "\u1f0f\u0399", '\u1f88': "\u1f08\u0399",
	'\u1f89': "\u1f09\u0399", '\u1f8a': "\u1f0a\u0399", '\u1f8b': "\u1f0b\u0399", '\u1f8c': "\u1f0c\u0399",
	'\u1f8d': "\u1f0d\u0399", '\u1f8e': "\u1f0e\u0399", '\u1f8f': "\u1f0f\u0399", '\u1f90': "\u1f28\u0399",
	'\u1f91': "\u1f29\u0399", '\u1f92': "\u1f2a\u0399", '\u1f93': "\u1f2b\u0399", '\u1f94': "\u1f2c\u0399",
	'\u1f95': "\u1f2d\u0399", '\u1f96': "\u1f2e\u0399", '\u1f97': "\u1f2f\u0399", '\u1f98': "\u1f28\u0399",
	'\u1f99': "\u1f29\u0399", '\u1f9a': "\u1f2a\u0399", '\u1f9b': "\u1f2b\u0399", '\u1f9c': "\u1f2c\u0399",
	'\u1f9d': "\u1f2d\u0399", '\u1f9e': "\u1f2e\u0399", '\u1f9f': "\u1f2f\u0399", '\u1fa0': "\u1f68\u0399",
	'\u1fa1': "\u1f69\u0399", '\u1fa2': "\u1f6a\u0399", '\u1fa3': "\u1f6b\u0399", '\u1fa4': "\u1f6c\u0399",
	'\u1fa5': "\u1f6d\u0399", '\u1fa6': "\u1f6e\u0399", '\u1fa7': "\u1f6f\u0399", '\u1fa8': "\u1f68\u0399",
	'\u1fa9': "\u1f69\u0399", '\u1faa': "\u1f6a\u0399", '\u1fab': "\u1f6b\u0399", '\u1fac': "\u1f6c\u0399",
	'\u1fad': "\u1f6d\u0399", '\u1fae': "\u1f6e\u0399", '\u1faf': "\u1f6f\u0399", '\u1fb2': "\u1fba\u0399",
	'\u1fb3': "\u0391\u0399", '\u1fb4': "\u0386\u0399", '\u1fb6': "\u0391\u0342", '\u1fb7': "\u0391\u0342\u0399",
	'\u1fbc': "\u0391\u0399", '\u1fc2': "\u1fca\u0399", '\u1fc3': "\u0397\u0399", '\u1fc4': "\u0389\u0399",
	'\u1fc6': "\u0397\u0342", '\u1fc7': "\u0397\u0342\u0399", '\u1fcc': "\u0397\u0399", '\u1fd2': "\u0399\u0308\u0300",
	'\u1fd3': "\u0399\u0308\u0301", '\u1fd6': "\u0399\u0342", '\u1fd7': "\u0399\u0308\u0342", '\u1fe2': "\u03a5\u0308\u0300",
	'\u1fe3': "\u03a5\u0308\u0301", '\u1fe4': "\u03a1\u0313", '\u1fe6': "\u03a5\u0342", '\u1fe7': "\u03a5\u0308\u0342",
	'\u1ff2': "\u1ffa\u0399", '\u1ff3': "\u03a9\u0399", '\u1ff4': "\u038f\u0399", '\u1ff6': "\u03a9\u0342",
	'\u1ff7': "\u03a9\u0342\u0399", '\u1ffc': "\u03a9\u0399", '\ufb00': "FF", '\ufb01': "FI",
	'\ufb02': "FL", '\ufb03': "FFI", '\ufb04': "FFL", '\ufb05': "ST",
	'\ufb06': "ST", '\ufb13': "\u0544\u0546", '\ufb14': "\u0544\u0535", '\ufb15': "\u0544\u053b",
	'\ufb16': "\u054e\u0546", '\ufb17': "\u0544\u053d",
}
