package lang

import (
	"fmt"
	"slices"
	"strings"
)

// Extensions are the parts of the language that Firebase does not have (rules §2). A document
// says which of them it uses. They are comparable.
type Extensions struct {
	NewRoot bool `json:",omitempty"` // the variable newRoot beside newData: the root of the tree after the operation
	Text    bool `json:",omitempty"` // more methods of strings
	Dates   bool `json:",omitempty"` // methods of numbers that are times, and toMillis of strings
	Counts  bool `json:",omitempty"` // numChildren of snapshots
}

// extensionNames are the names, in the order of named.
var extensionNames = []string{"newRoot", "text", "dates", "counts"}

func (x *Extensions) named() [4]*bool { return [4]*bool{&x.NewRoot, &x.Text, &x.Dates, &x.Counts} }

// ParseExtensions reads names of extensions.
func ParseExtensions(names ...string) (x Extensions, err error) {
	for _, name := range names {
		i := slices.Index(extensionNames, name)
		if i < 0 {
			return x, fmt.Errorf("unknown extension %q of rules; there are %s", name, strings.Join(extensionNames, ", "))
		}
		*x.named()[i] = true
	}
	return x, nil
}

// Names returns the names of the extensions.
func (x Extensions) Names() (names []string) {
	for i, used := range x.named() {
		if *used {
			names = append(names, extensionNames[i])
		}
	}
	return names
}
