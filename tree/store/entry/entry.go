// Package entry is the format of the entries of a database's log: what clients can observe
// of its commits, as text that machines and people read. A replica, a feed of changes and a
// restore to a moment make the same database of the same entries, without a clock, random
// numbers or rules.
//
// An entry is a header and operations, one JSON value on a line, in the order in which they
// were carried out:
//
//	{"v":1,"db":"5f…","run":"a1…","rev":812,"at":1764002345678,"n":2,"sum":"9bd366ae"}
//	{"w":{"/rooms/r1/name":"Lobby"},"uid":"ana","door":"socket","cause":"set"}
//	{"id":"0b…:8"}
//
// One commit makes one revision, which is one entry, or several if it is longer than
// [MaxBytes]. Pieces of what is made visible later are in entries in front of the next commit. The types of operations say what they mean. Section 7.7 of docs/storage.md
// describes the format.
package entry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"strconv"
)

// Version is the version of the format.
const Version = 1

const (
	// MaxBytes is the largest length of an entry.
	MaxBytes = 128 << 10
	// maxLines is how much of it the operations may take.
	maxLines = MaxBytes - maxHeader
	// maxHeader is more than any header takes.
	maxHeader = 256
)

var (
	// ErrDamaged is wrapped for text that is no entry.
	ErrDamaged = errors.New("unreadable entry")
	// ErrVersion is wrapped for an entry that a later version has written, and for an
	// operation that this one does not know. Such an entry must not be skipped.
	ErrVersion = errors.New("the entry was written by a later version")
)

// A Header says which commit an entry is.
//
// A reader that misses a revision has missed commits, and has to read the state
// of the database instead. When Run changes, what the run before has begun and
// not completed is void.
type Header struct {
	Database uint64 // random id of the database: not that of one restored or copied from it
	Run      uint64 // random id of the time for which the database was open
	Revision uint64 // of the commit; one more than that of the entry before, or the same
	At       int64  // the server's time, in milliseconds since 1970; never goes back
	More     bool   // the entry belongs to the commit of the one that follows in the same run
}

// An Entry is a part of the log of a database.
type Entry struct {
	Header
	Text  []byte // of all of it, with the header
	lines []byte
}

// storedHeader is a header as it is written. Sum comes last.
type storedHeader struct {
	Version  int    `json:"v"`
	Database string `json:"db"`
	Run      string `json:"run"`
	Revision uint64 `json:"rev"`
	At       int64  `json:"at"`
	Lines    int    `json:"n"`
	More     bool   `json:"more"`
	Sum      string `json:"sum"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// append appends the header of so many lines.
func (h Header) append(b []byte, n int, lines []byte) []byte {
	from := len(b)
	b = strconv.AppendInt(append(b, `{"v":`...), Version, 10)
	b = appendHex(append(b, `,"db":"`...), h.Database, 16)
	b = appendHex(append(b, `","run":"`...), h.Run, 16)
	b = strconv.AppendUint(append(b, `","rev":`...), h.Revision, 10)
	b = strconv.AppendInt(append(b, `,"at":`...), h.At, 10)
	b = strconv.AppendInt(append(b, `,"n":`...), int64(n), 10)
	if h.More {
		b = append(b, `,"more":true`...)
	}
	sum := crc32.Update(crc32.Checksum(b[from:], castagnoli), castagnoli, lines)
	b = appendHex(append(b, `,"sum":"`...), uint64(sum), 8)
	return append(b, "\"}\n"...)
}

func appendHex(b []byte, n uint64, digits int) []byte {
	for i := digits - 1; i >= 0; i-- {
		b = append(b, "0123456789abcdef"[n>>(4*i)&15])
	}
	return b
}

// Next returns the entry that a text begins with, and what follows it.
//
// The header is encoded again and compared with what was read. So each byte of
// an entry is either covered by the checksum or part of a canonical form, and
// an entry with unknown members is refused instead of being read in part.
func Next(text []byte) (e Entry, rest []byte, err error) {
	end := bytes.IndexByte(text, '\n')
	if end < 0 || end > maxHeader {
		return e, nil, fmt.Errorf("%w: it has no header", ErrDamaged)
	}
	head, lines := text[:end+1], text[end+1:]
	var s storedHeader
	if err := json.Unmarshal(head, &s); err != nil || s.Version < 1 {
		return e, nil, fmt.Errorf("%w: the header is not readable", ErrDamaged)
	}
	if s.Version > Version {
		return e, nil, fmt.Errorf("%w: format %d", ErrVersion, s.Version)
	}
	size := 0
	for range s.Lines {
		n := bytes.IndexByte(lines[size:], '\n')
		if n < 0 {
			return e, nil, fmt.Errorf("%w: revision %d is cut short", ErrDamaged, s.Revision)
		}
		size += n + 1
	}
	e.Header = Header{Revision: s.Revision, At: s.At, More: s.More}
	e.Database, _ = strconv.ParseUint(s.Database, 16, 64)
	e.Run, _ = strconv.ParseUint(s.Run, 16, 64)
	e.lines = lines[:size:size]
	if again := e.Header.append(make([]byte, 0, maxHeader), s.Lines, e.lines); !bytes.Equal(again, head) {
		return e, nil, fmt.Errorf("%w: the header and the checksum of revision %d do not agree", ErrDamaged, s.Revision)
	}
	e.Text = text[: end+1+size : end+1+size]
	return e, lines[size:], nil
}

// Operations returns what the entry says. An error ends them.
func (e Entry) Operations() iter.Seq2[Operation, error] {
	return func(yield func(Operation, error) bool) {
		for line := range bytes.Lines(e.lines) {
			op, err := parse(string(line[:len(line)-1]))
			if err != nil {
				err = fmt.Errorf("revision %d: %w", e.Revision, err)
			}
			if !yield(op, err) || err != nil {
				return
			}
		}
	}
}
