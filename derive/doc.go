// Package derive computes what follows from a write by the definitions of a data document:
// inverse indexes, counters, sums, bounded lists, times of expiry. It is pure: it has no store, no
// clock and no network, so a server, the tests of rules and checks of data derive alike. From a
// definition of the kind index nothing follows: it tells the store what to keep in order.
//
// Its nouns: a Document is a parsed text, a Definition one line of it. A definition has a
// source, the pattern of the nodes that it looks at, and most have a target, the places that
// it keeps. A touch is a node of a source that a write makes come, change or go. A Change is
// a write to derive from, the Result is the update that it becomes.
//
// Derive takes the touches of a write, computes what each says before and after it, and
// adds the difference to the update. Definitions whose source may be the target of others
// come after those, level by level. A client may say about a target what follows
// anyway; if it says something else, the write is refused. An administrator is corrected.
//
// An example: by {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"}, the write
//
//	/groups/g1/members/ana  true
//
// touches the node that it writes, and becomes the update
//
//	/groups/g1/members/ana  true
//	/users/ana/groups/g1    true
//
// A source is never derived from as a whole. A count adds a difference to the number that is
// stored, so a write costs what it touches, however large the source is. The price is the second
// obligation below: if the stored number is wrong, it stays wrong until the definition is rebuilt.
//
// The code in the order of a write: the trie finds its definitions (trie.go), and collect notes
// its touches and claims (touch.go). For each level, edits computes what follows (kinds.go,
// keep.go, with the expressions of evaluator.go), compare looks at the claims (claim.go), merge puts
// the edits into the update (update.go), and collect notes what these touch. At the end, finish
// computes times of expiry (finish.go), and divide puts what follows behind what was sent. A write
// that touches one node of one map takes a shorter way (single.go).
//
// Obligations: the targets of Change.Writes are disjoint, and Change.Before agrees with the
// definitions, except for those that Change.Skip names. Derive reads Before while it runs and
// keeps nothing of it. A Document never changes, so any number of goroutines may use one.
package derive
