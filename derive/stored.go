package derive

import (
	"strings"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/tree"
)

// ParseStored reads a document that some version of Dogwood has accepted. If this version refuses
// it, the result has no definitions, and Refused says why: then every write is refused that may meet
// what the definitions of the text are about, since it is not known what follows from it.
//
// To refuse to open the database was tried before: an administrator could not even put another
// document in force. To let such writes through would leave counts and indexes wrong, and nothing
// would tell. So the database opens, and reads and all other writes go on.
func ParseStored(src string) *Document {
	d, err := Parse(src)
	if err != nil {
		d = &Document{source: src, refused: err, trie: newTrie(mentioned(src))}
	}
	return d
}

// Refused returns why this version refuses the text of a stored document, nil if it does not.
// The error is of type Errors. A nil Document is no text.
func (d *Document) Refused() error {
	if d == nil {
		return nil
	}
	return d.refused
}

// mentioned returns a source for each path that the definitions of a text have. If one of them may have
// others, or has none, it returns one of everything. The text is of a version that this one does
// not know, so any text that begins with a slash counts as a path, wherever it is: rather refuse too
// much than too little.
func mentioned(src string) (list []*Definition) {
	everything := []*Definition{{}}
	doc, err := jsonc.Parse(src)
	if err != nil {
		return everything
	}
	top, ok := doc.Root.Value.(*hujson.Object)
	if !ok || len(top.Members) != 2 {
		return everything
	}
	format, define := jsonc.Member(top, "format"), jsonc.Member(top, "define")
	if format == nil || define == nil {
		return everything
	}
	all, ok := define.Value.(*hujson.Object)
	if text, _ := jsonc.Str(format); !ok || text != Format {
		return everything
	}
	for i := range all.Members {
		some := len(list)
		for v := range all.Members[i].Value.All() { // names of members are among them
			if text, _ := jsonc.Str(v); strings.HasPrefix(text, "/") {
				list = append(list, &Definition{source: fixedPart(text)})
			}
		}
		if len(list) == some {
			return everything
		}
	}
	return list
}

// fixedPart returns the keys and captures of a path up to the first segment that may be something else, as
// an expression is. A pattern stands for all that is below it, too.
func fixedPart(path string) (p pattern) {
	for key := range strings.SplitSeq(path[1:], "/") {
		name, isCapture := strings.CutPrefix(key, "$")
		switch {
		case !tree.ValidKey(name) || strings.ContainsAny(name, "{}*") || isCapture && !captureName(name):
			return p
		case isCapture:
			p = append(p, segment{capture: key})
		default:
			p = append(p, segment{key: key})
		}
	}
	return p
}
