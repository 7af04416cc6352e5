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
// Obligations: the targets of Change.Writes are disjoint, and Change.Before agrees with the
// definitions, except for those that Change.Skip names. Derive reads Before while it runs and
// keeps nothing of it. A Document never changes, so any number of goroutines may use one.
package derive
