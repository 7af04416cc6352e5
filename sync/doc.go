// Package sync keeps everyone in step: it decides, commits and publishes every
// change of one database. Import it as dsync; inside this package, sync is the
// standard library's.
//
// A [Database] is one tree with its rules, its file and its listeners. Writes
// queue up for its one committer, which takes what is there, applies each write
// in turn to one storage transaction, commits it with one sync, and only then
// tells the listeners and acknowledges the writers.
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
// fail with ErrUnknown, and no write is accepted until the batch has been taken back; then
// listeners and sessions are as they were before it. If it is the file whose state is
// unknown, and not the log's, nothing is read meanwhile either.
//
// A [Session] is the protocol state of one client of the realtime protocol: a
// request goes in, replies and events go to its outbox. It keeps little of what a
// client sends: what a session, an Outbox and the queue of writes hold is bounded,
// and who exceeds a bound waits or is refused.
//
// Neither owns a socket. A database has two goroutines, its committer and its
// scrubber, which Close waits for; a session has none.
//
// The parts share a core and otherwise keep to themselves: Database.audience has the lock of
// listeners and grants, committer has what belongs to its one goroutine, writer prepares what
// is large, and scrubber reads the file. Lock order: the lock of the audience, then an outbox.
// An outbox does not call back into the database while its own lock is held.
package sync
