// Package replica is a client's copy of parts of a database: what the server
// told it, and over that the writes that the server has not answered yet. It is
// what makes an application see its own writes at once, and see them undone if
// they are denied.
//
// A View is what an application follows: the children of a place inside of a
// query's window. A Source is what the server is asked to follow for it. One
// source serves all views that it covers: one of a whole place serves all views
// at and below that place. A Write is shown by all views that it touches until
// the server has answered it.
//
// The value of a view is always a function of its source and the pending writes,
// in the order they were made. So there is nothing to undo when a write is
// denied: it is left out, and the views are made again. Before its source has
// arrived, a view shows the pending writes alone.
//
// A large view is made when it is read, and until then only said to have
// changed: many changes cost as much as one.
//
// A Replica does no I/O, starts no goroutine and has no lock: several goroutines that
// use it must share one. It asks for sources through the Network and reports changes
// to each view's Watchers. Both run within its methods, while the caller holds the
// lock, so they must not call back.
package replica
