package store

import (
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzLoad compares loads, which take apart what is a few bytes long, with
// reading the text as a whole.
func FuzzLoad(f *testing.F) {
	for _, text := range loadTexts {
		f.Add(text, uint8(16), false)
	}
	f.Fuzz(func(t *testing.T, text string, whole uint8, slow bool) {
		if len(text) > 1<<14 || strings.Contains(text, ".sv") {
			return // loads refuse server values
		}
		src := strings.NewReader(text)
		o := LoadOptions{WholeBytes: 1 + int(whole), SliceBytes: 256}
		if slow {
			compareLoad(t, o, "half by half", text, iotest.HalfReader(src))
		} else {
			compareLoad(t, o, "at once", text, src)
		}
	})
}
