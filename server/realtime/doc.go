// Package realtime serves the connections of the realtime protocol, which is described in
// docs/protocol.md, over WebSockets and long polling.
//
// A conn is one client: a session of the engine (package sync) and its outbox. A socket or
// a poll is the transport that carries its messages; while a browser changes from a poll to
// a socket there are both (upgrade). This package moves bytes, and decides nothing about
// data: messages go from a transport to the session, and from the outbox to a transport.
//
// A socket that waits costs a goroutine with a small stack and no buffer: it waits on the raw
// connection, and gets a buffer when bytes arrive (input). After a while it is parked and has no
// goroutine (rest, package parking), where the system allows that. A library does the handshake of
// WebSockets; their frames are taken apart and put together here (frameReader,
// appendFrame). Messages are written by a small pool of goroutines (writerPool) as far as
// the network takes them at once. A socket that would block gets a goroutine of its own, with
// a deadline that is extended as long as the client makes progress.
//
// What the connections need of the server around them is in [Options]; the [Host] names
// databases and decides about credentials.
package realtime
