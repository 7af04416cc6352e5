package wire

import (
	"iter"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// The functions in this file check nothing: isJSON has accepted their text, or what they find is
// as good as the text.

// membersOf yields the decoded key and the raw value of each member of the object
// that starts at text[0]. It does not look at how deep the values are.
func membersOf(text string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for i := jsontext.SkipSpace(text, 1); i < len(text) && text[i] == '"'; {
			end := jsontext.SkipString(text, i)
			key, _ := jsontext.Unquote(text[i:end])
			start := jsontext.SkipSpace(text, jsontext.SkipSpace(text, end)+1)
			if start >= len(text) {
				return
			}
			end = jsontext.SkipValue(text, start)
			if !yield(key, text[start:end]) {
				return
			}
			i = jsontext.SkipSpace(text, jsontext.SkipSpace(text, end)+1)
		}
	}
}

// elements yields the raw elements of the array that starts at text[0].
func elements(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := jsontext.SkipSpace(text, 1); i < len(text) && text[i] != ']'; {
			end := jsontext.SkipValue(text, i)
			if !yield(text[i:end]) {
				return
			}
			if i = jsontext.SkipSpace(text, end); i < len(text) && text[i] == ',' {
				i = jsontext.SkipSpace(text, i+1)
			}
		}
	}
}
