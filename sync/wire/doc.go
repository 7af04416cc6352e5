// Package wire has the shapes of the realtime protocol, version 5: how texts
// are cut into frames, how a client's message is laid out, and how replies and
// pushes are written. It knows no meaning: no paths, no data model, no rules.
// Servers, clients, proxies and recorders can share it.
//
// A frame is one text message of the transport. A message is one JSON text,
// carried in one frame or in several. A [Message] from a client is a [Control]
// signal or a [Request]; what goes to a client is a control signal, a response
// to a request, or a push. The protocol is described in docs/protocol.md.
//
// # Reading
//
// WebSocket frames go through a [Collector], long-poll pieces through
// [ParsePieces] and a [Reassembler]; both give whole messages for
// [ParseMessage]. All input comes from strangers: each of them bounds what it
// keeps, none panics, and what is not well-formed is an error.
//
// # Writing
//
// The Append functions add one complete message to a buffer and return it, as
// append does. They do not allocate when the buffer is large enough. Arguments
// called data are JSON that is already encoded and are copied without a look
// at them; all other strings are text and get quoted. [AppendFrames] makes
// frames of a message for a WebSocket, [AppendPollScript] a script of several
// messages for a long poll.
//
// # Obligations of the caller
//
// A Collector and a Reassembler belong to one connection and are not safe for
// concurrent use; everything else is. After an error from either the
// connection must be closed, since the place in the stream is lost. Data given
// to an Append function must be valid JSON.
package wire
