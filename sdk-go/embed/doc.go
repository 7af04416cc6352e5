// Package embed has a database inside of the program: the API of package
// dogwood, with rules, live listeners and a file, but without a server and a
// network.
//
//	db, err := embed.Open("data")
//	defer db.Close()
//	err = db.Ref("rooms/r1").Set(ctx, room)
//
// A Database is a *dogwood.Client of an administrator, to whom no rules apply.
// As makes clients of users, to whom they do.
//
// The file is one that "dogwood serve" can serve as well, but not at the same
// time: a process that opens it locks it.
package embed
