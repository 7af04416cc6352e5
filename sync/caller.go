package sync

import "github.com/dogwooddb/dogwood/rules"

// A Caller says on whose behalf an operation runs. Every operation carries one.
// The zero Caller is a signed-out client.
type Caller struct {
	Auth  rules.Auth
	Admin bool // the rules do not apply
}

// Admin is the caller that the rules do not apply to.
var Admin = Caller{Admin: true}
