// Package peer knows the clients at the other end of connections, and bounds what each may
// have.
//
// A [Table] has a [Client] for each address that was heard of lately, which counts its
// connections and requests and holds its shares of the server's [Resources]. [Conns] follows
// the connections of an http.Server, and a [Request] is one of the requests on them, which
// may come from another address through a trusted proxy. A [WriteDeadline] gives a client
// time for as long as it makes progress.
package peer
