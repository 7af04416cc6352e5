package dogwood

import (
	"context"
	"io"
)

// A Transport is a way to one database. Dial uses one over the network; package
// embed has one to a database in the same process.
type Transport interface {
	// Connect opens a connection of the realtime protocol. The first message to
	// be received is the server's hello. An error should be of a class such as
	// ErrUnavailable; the client tries again later whatever it is.
	Connect(ctx context.Context, h Handshake) (Conn, error)

	// Read reads without a connection: as a stream of JSON, so that its size does
	// not matter. The application gets the error as it is, so it
	// should name the request.
	Read(ctx context.Context, r ReadRequest) (io.ReadCloser, error)
}

// A Handshake is what a client brings along when it connects.
type Handshake struct {
	LastSession string // the session of the connection before, which has ended
	Host        string // where the server said to go; "" for the usual one
}

// A Conn carries whole messages of the realtime protocol, each a JSON text, in
// order. One goroutine sends, one receives, and any may close.
type Conn interface {
	// Send takes a message, which it must not keep. An error ends the connection. A
	// Conn that takes only so much has MaxSend() int, in bytes: what is larger is not
	// sent to it, but fails with ErrTooBig.
	Send(msg []byte) error

	// Receive waits for the next message, which is valid until the next call. An
	// error ends the connection: ErrTooBig if the message is too large to be taken,
	// so that it is no use to ask for it again. A Conn whose messages may take longer
	// than a minute to arrive has Heard() time.Time, when a part of one last came: else
	// the client takes it for dead meanwhile.
	Receive() ([]byte, error)

	// Close makes Send and Receive return.
	Close() error
}

// A ReadRequest says what is to be read: the value at a path in export form, the
// form in which priorities are kept and no object is an array. With a limit it
// is an object of the first children by key behind After, and Shallow makes all
// of those true.
type ReadRequest struct {
	Path       string // "/rooms/r1"
	Shallow    bool   // the keys alone
	After      string // "" for the first
	Limit      int    // 0 for all
	Credential string // what the client is signed in with; "" if it is signed out

	// Readable asks for those of the first children that the caller may read (REST §19.5). The
	// transport returns a ReadPage, or ErrUnsupported if the server has no such listing.
	Readable bool
	Next     string // where the page begins; "" for the beginning
}

// A ReadPage is what Transport.Read returns for a ReadRequest that is Readable.
type ReadPage interface {
	io.ReadCloser
	Next() string // that of the ReadRequest for the next page; "" if this is the last one
}
