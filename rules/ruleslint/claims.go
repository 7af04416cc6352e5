package ruleslint

import (
	"slices"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/lang"
)

// authMembers are what auth has for every caller who signed in. Old custom tokens can add
// others, so a name that resembles none of these is not suspicious.
var authMembers = []string{"uid", "token", "provider"}

// tokenMembers are the claims of users that rules ask for. Others are left out: claims of
// applications resemble them.
var tokenMembers = []string{"email", "email_verified", "phone_number"}

// claimName looks at x, the member of of with the given name. Claims can have any name, so the
// check of types cannot refuse one that is misspelt, and it is null and no error (rules §2).
// It is called for auth.NAME and for auth['NAME'].
func (l *linter) claimName(r *rules.Rule, x, of lang.Expr, name string) {
	from, _ := x.Span()
	switch of.String() {
	case "auth":
		if slices.Contains(authMembers, name) {
			return
		}
		if slices.Contains(tokenMembers, name) {
			l.warn("unknown-claim", r, from, "auth.%s is a claim of old tokens only; did you mean auth.token.%s?", name, name)
		} else if meant := lang.Nearest(name, authMembers); meant != "" {
			l.warn("unknown-claim", r, from, "auth has uid, token and provider; did you mean auth.%s and not %s?", meant, name)
		}
	case "auth.token":
		if meant := lang.Nearest(name, tokenMembers); meant != "" && meant != name {
			l.warn("unknown-claim", r, from, "did you mean auth.token.%s and not %s?", meant, name)
		}
	}
}
