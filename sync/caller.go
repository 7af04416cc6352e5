package sync

import (
	"strconv"

	"github.com/dogwooddb/dogwood/rules"
)

// A Caller says on whose behalf an operation runs. Every operation carries one.
// The zero Caller is a signed-out client.
type Caller struct {
	Auth  rules.Auth
	Admin bool // the rules do not apply

	// Origin is what the operation came with, for an Observer; nil: unknown. A Session
	// sets it to its own name.
	Origin *rules.Origin

	// Trace, unless it is nil, is told how each decision for the caller came about,
	// of a listen the first one. As with an Observer, deciding then costs several
	// times as much. It must not block and not call the Database.
	Trace func(*rules.Request, *rules.Trace)

	verdict *verdict // where decisions are noted; nil: nowhere
}

// A verdict is where a decision about a Caller is noted.
type verdict struct {
	asked int
	by    string
}

// Admin is the caller that the rules do not apply to.
var Admin = Caller{Admin: true}

// principal names whom a caller acts for. It stays the same when a token is refreshed: a
// user is told by uid and provider, one without uid by all that the rules see of them.
func (c Caller) principal() string {
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
