// Package sync keeps everyone in step: it decides, commits and publishes every
// change of one database. Import it as dsync; inside this package, sync is the
// standard library's.
//
// A [Database] is one tree with its rules, its file and its listeners. Writes
// queue up for its one committer, which takes what is there, applies each write
// in turn to one storage transaction, syncs the file once, and only then tells
// the listeners and acknowledges the writers.
//
// Guarantees, per outbox (that is, per connection):
//
//   - events come in commit order;
//   - a write's own events come before its acknowledgement;
//   - one write, however many paths it has, is at most one event for each
//     listener;
//   - the first event of a listener is its whole view, and no event is missing
//     or doubled between that view and what follows;
//   - a consumer that does not keep up loses single events but then gets the
//     whole view again.
//
// A write that is refused, that the store fails for, or that makes the program
// panic, fails alone: the others of its batch take effect. If the batch itself
// can't be committed, all of them fail with ErrUnavailable of package fault, and listeners and
// sessions are as they were before. If it cannot be told whether it was committed, they
// fail with ErrUnknown, and the database serves nothing until the file is as it was
// before the batch; then so are listeners and sessions.
//
// A [Session] is the protocol state of one client of the realtime protocol: a
// request goes in, replies and events go to its outbox. It keeps little of what a
// client sends: what a session, an Outbox and the queue of writes hold is bounded,
// and who exceeds a bound waits or is refused.
//
// Neither starts goroutines or owns a socket; the only goroutine of a database
// is its committer, which Close waits for.
package sync
