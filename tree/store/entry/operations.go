package entry

import (
	"encoding/json"

	"github.com/dogwooddb/dogwood/tree"
)

// An Operation is one line of an entry behind its header: a *Write, *Seen, *Left, *Rules, *Data,
// *States, *Kept, *Setting, *Load, *Link, *Drop, *Part or *Join.
//
// The set is closed, and a switch over it has a case for each. A new one needs a parser
// in decode.go and a case in package sync/replay, and readers of this version refuse
// entries that have it.
type Operation interface {
	append(b []byte) []byte
}

// By is the caller of an operation, and how it came about.
type By struct {
	UID   string // of the user; "" if there is none
	Admin bool   // the rules did not apply
	Door  string // how the request came, such as rest or socket; "" if it is unknown
	Cause string // what was asked for, such as set or onDisconnect
}

// An ID is the id of a write, by which it is recognized when a client sends it again.
type ID struct {
	Writer [16]byte // a hash of the client's name and its caller
	Number uint64
}

// A Write is a change of the tree, with server values replaced. The writes are in the order
// in which they are made.
type Write struct {
	Writes []tree.ResolvedWrite
	By     By
	ID     *ID        // nil: the client gave none
	Merge  *tree.Path // of what it was sent as an update; nil: it was not
}

// Seen is the id of a write that changed nothing, or that is in a [Join]. It counts all the
// same.
type Seen struct{ ID ID }

// A Record is what a session left for its disconnect: a number that is its own, and a JSON
// text that package pending understands.
type Record struct {
	Number uint64
	Text   []byte
}

// Left changes what a session left for its disconnect. When an operation that it left is
// carried out, its Write is in front of this in the same entry.
type Left struct {
	Session string
	Put     []Record
	Delete  []uint64
}

// Rules put rules in force. Version is the JSON text that package versions keeps of them.
type Rules struct {
	Version json.RawMessage
	Source  string
}

// Data puts a data document in force. Version is the JSON text that package versions keeps of it.
type Data struct {
	Version json.RawMessage
	Source  string
}

// States say how far definitions of the data document are from here on: which are built, are being built,
// have failed or are paused. Changes is the JSON text that package declared understands.
type States struct{ Changes json.RawMessage }

// Kinds of [Kept], which are the names of its operations.
const (
	KeptDue     = "due"     // the node at Path expires at N, in milliseconds since 1970; 0: it does not
	KeptSources = "sources" // N source nodes share the place at Path
	KeptMark    = "mark"    // the place at Path has a source, which is At if that was noted
	KeptUnmark  = "unmark"  // the first N marks of the definition go
	KeptForget  = "forget"  // the first N rows of the definition go
)

// Kept changes what a definition needs beside the tree. A write that it follows from is in the same entry.
type Kept struct {
	Kind       string
	Definition uint32    // its number
	Path       tree.Path // of a node or place
	N          int64
	At         tree.Path // of KeptMark, the source; of KeptDue, how far the removal has come; the root: none
}

// A Setting gives a setting a value.
type Setting struct{ Name, Value string }

// A Load is a piece of the text of an import to a path. The pieces of an import are in order,
// and others may be between them. They have no effect before their Link.
type Load struct {
	ID   string
	At   tree.Path
	Now  int64 // what timestamps in the text become, in milliseconds since 1970; 0: it may have none
	Seq  int   // from 0
	Text string
}

// A Link makes what was loaded the value at its path. Increments in the text are values in
// Writes, which are made after that.
type Link struct {
	ID     string
	By     By
	Writes []tree.ResolvedWrite
}

// A Drop says that the pieces of a Load or of Parts are void.
type Drop struct{ ID string }

// A Part is a part of the text of an operation that is too long for one entry. The parts are
// in order, and other operations may be between them.
type Part struct {
	ID   string
	Seq  int // from 0
	Text string
}

// A Join stands for the operation whose text is in parts.
type Join struct {
	ID    string
	Parts int
}
