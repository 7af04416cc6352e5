// Package dogwood is the Go client of Dogwood, and of any server that speaks the
// realtime protocol of the Firebase Realtime Database.
//
// A Client is one connection to one database. A Ref names a place in it, a Query
// a window over the children of a place. Both are values: they cost nothing and
// need not be closed.
//
//	db, err := dogwood.Dial(ctx, "https://db.example.org?ns=shop", dogwood.Options{})
//	room := db.Ref("rooms/r1")
//	err = room.Set(ctx, Room{Name: "Lobby"})
//	for snap, err := range room.Values(ctx) { … }
//
// # Reading
//
// Get and Snapshot read once. Values and Events are live: they yield what is
// there, and then every change, until their context ends or the loop is left.
// They go on by themselves when a connection was lost. A loop that is slower
// than the changes sees fewer of them, but always in order and always the last
// one. GetTo, Children and Keys read what is too large to keep in memory.
//
// # Writing
//
// Set, Update, Push, Remove and Transaction return when the server has answered.
// The client's own listeners see the change at once, and see it undone if the
// server denies it. Writes that are made without a connection wait for one. A
// write whose answer was lost with the connection is sent again, and a Dogwood
// server carries it out once. Other servers may count an Increment twice then;
// Transaction, SetIf and Create fail there with ErrDisconnected.
//
// If the context ends before a write was sent, it is taken back. If it ends
// later, the write may still take effect.
//
// # Errors
//
// A refusal of the server is an *Error with the path and the server's words;
// errors.Is compares it with ErrPermissionDenied and the other errors of this package. If a context
// ends while there is no connection, the error also says why there is none.
//
// # Concurrency
//
// All methods may be called by several goroutines at once. Each Values or Events
// loop belongs to the goroutine that runs it. Close ends all of them.
package dogwood
