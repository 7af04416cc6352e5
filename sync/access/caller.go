package access

import (
	"strconv"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/tree"
)

// A Caller says on whose behalf an operation runs. Every operation carries one.
// The zero Caller is a signed-out client.
type Caller struct {
	Auth  rules.Auth
	Admin bool // the rules do not apply

	// Origin is what the operation came with, for an Observer; nil: unknown. A session
	// sets it to its own name.
	Origin *rules.Origin

	// Trace, unless it is nil, is told how each decision for the caller came about,
	// of a listen the first one. As with an Observer, deciding then costs several
	// times as much. It must not block and not call the database.
	Trace func(*rules.Request, *rules.Trace)

	verdict *Verdict // where decisions are noted; nil: nowhere
}

// A Verdict is where decisions about a Caller are noted.
type Verdict struct {
	Asked int    // rules that were asked
	By    string // the rule that decided last
}

// Noting returns the caller with a place to note decisions about it.
func (c Caller) Noting(v *Verdict) Caller {
	c.verdict = v
	return c
}

// Principal names whom a caller acts for. It stays the same when a token is refreshed: a
// user is told by uid and provider, one without uid by all that the rules see of them.
func (c Caller) Principal() string {
	switch {
	case c.Admin:
		return "administrator"
	case c.Auth.IsNull():
		return "signed out"
	case c.Auth.UID == "":
		return "auth " + c.Auth.JSON
	}
	return "user " + strconv.Quote(c.Auth.Provider()) + " " + c.Auth.UID
}

// A Read says what is to be read.
type Read struct {
	Caller  Caller
	Path    tree.Path
	Query   tree.Query   // the zero Query is everything
	Plain   bool         // the client gave no query parameters
	OneShot bool         // an unindexed query is refused, as REST and get do; an event stream when it begins
	Quota   *quota.Quota // that a listen counts in; nil: none

	// Hold, if not nil, is asked before a read takes much memory, with all that it takes
	// so far and then. An error ends the read. A listen does not use it.
	Hold func(total int64) error

	// A read that is Brief ends with fault.ErrLong if it takes long. A read Again, after
	// that, is neither counted nor observed a second time.
	Brief, Again bool

	Realtime  bool // it came over the realtime protocol
	KeysOnly  bool // nothing below the children is answered
	Childless bool // no children are answered
	Changes   bool // of a listen: only what happens from now on, and no view first
	Notify    bool // of a listen: only the names of children that change
}

// Whole is a read of the whole node at p. Over REST it is ordered by key, as it is for a client that
// asks for it (rules §7).
func Whole(c Caller, p tree.Path, rest bool) Read {
	r := Read{Caller: c, Path: p, Plain: true}
	if rest {
		r.Query.OrderBy = tree.ByKey
	}
	return r
}

// A Readable is a page of the children that a caller may read.
type Readable struct {
	Keys []string
	Node tree.Node // with these children; empty if only keys are asked for
	// Next is the last key that was looked at, if there are more, else "". It may be that of a
	// child that the caller may not read, so it is not for the caller to know.
	Next string
}
