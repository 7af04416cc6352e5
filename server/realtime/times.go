package realtime

import "time"

// Times of a WebSocket (protocol §1.3). Clients send a keep-alive after 45 seconds
// without traffic, so a first message comes within FirstMessage, and browsers
// and all other clients answer pings by themselves.
const (
	PingEvery    = 25 * time.Second
	Silence      = 75 * time.Second // without any frame: the client is gone
	FirstMessage = 60 * time.Second // answers to pings do not count before it
	Stalled      = 15 * time.Second // without any byte of a message that has begun
	Linger       = 2 * time.Second  // for the client to take what is left, and to close
	Quiet        = 5 * time.Second  // without anything from the client: the socket is parked
)

// Times of long polling. Clients ask again at once, and at least every 25 seconds.
const (
	PollFirst = 30 * time.Second // from the start to the first poll
	PollIdle  = 60 * time.Second // without any poll: the client is gone

	// pieceRate is the bytes per second at which a message in pieces comes, after a time of
	// Silence. A poll brings some 1,800 characters, and there are two at a time. Over a
	// WebSocket a message of the SDKs that does not fit into a frame comes in pieces, too, one
	// right after the other.
	pieceRate = 1 << 10

	// PollHold is how long a poll waits for something to say. Browsers give up on
	// one after 25 seconds (protocol §14.2), counted from before it was sent.
	PollHold = 20 * time.Second
)

// UpgradeTimeout is how long the end of the poll may come after the client
// began to rely on the socket. Clients give up after a minute (protocol §14).
const UpgradeTimeout = 60 * time.Second
