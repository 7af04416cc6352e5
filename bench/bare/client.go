package bare

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/gorilla/websocket"
)

// Bounds of what a client sends: a frame, and a message in several of them.
const (
	maxFrame   = 64 << 10
	maxMessage = 16 << 20
)

var (
	errTooMany = errors.New("too many listens")
	errTooLong = errors.New("message too long")
)

// hello is the first message of a connection.
const hello = `{"t":"c","d":{"t":"h","d":{"ts":1,"v":"5","h":"localhost","s":"bare"}}}`

// A client is one realtime connection. One goroutine reads it and answers; those
// of other clients write to it too.
type client struct {
	server  *Server
	ws      *websocket.Conn // for reading
	socket  *socket         // below it, for writing
	follows []string        // paths
	owed    []*socket       // others, on which frames wait that this client has caused
	msg     []byte          // that is being written
	frame   []byte          // that it is in
}

// serve answers until the connection ends.
func (c *client) serve() error {
	defer c.settle()
	c.msg = append(c.msg, hello...)
	c.reply()
	for {
		msg, err := c.next()
		if err != nil {
			return err
		}
		if len(msg) == 0 {
			continue
		}
		r, err := parse(msg)
		if err == nil {
			err = c.answer(r)
		}
		if err != nil {
			return err
		}
	}
}

// next returns the next message, whose pieces it puts together. A keep-alive is
// an empty one.
func (c *client) next() ([]byte, error) {
	_, frame, err := c.ws.ReadMessage()
	if err != nil || len(frame) > len("9999") {
		return frame, err
	}
	pieces, err := strconv.Atoi(string(frame))
	if err != nil {
		return nil, fmt.Errorf("%w: %q", errNotOurs, frame)
	}
	var msg []byte
	for range pieces {
		_, piece, err := c.ws.ReadMessage()
		if err != nil {
			return nil, err
		}
		if len(msg)+len(piece) > maxMessage {
			return nil, errTooLong
		}
		msg = append(msg, piece...)
	}
	return msg, nil
}

// answer delivers the change of a request to its followers, and says ok.
func (c *client) answer(r request) error {
	data := `""`
	switch r.action {
	case "q":
		if err := c.server.follow(c, string(r.path)); err != nil {
			return err
		}
		data = `{}`
	case "p":
		c.msg = appendPut(c.msg[:0], r.path, r.data)
		c.deliver(r.path)
	case "m":
		if p, ok := postOf(r.data); ok {
			c.msg = appendPost(c.msg[:0], p)
			c.deliver(p.room)
		}
	}
	c.msg = appendOK(c.msg[:0], r.id, data)
	c.reply()
	return nil
}

// deliver queues the message for the followers of a path, in a frame that all
// of them share. The goroutine that queues the first one has it written.
func (c *client) deliver(path []byte) {
	c.frame = appendFrame(c.frame[:0], c.msg)
	for _, f := range c.server.followersOf(path) {
		if first := f.socket.add(c.frame); first && f != c {
			c.owed = append(c.owed, f.socket)
		}
	}
}

// reply queues the message for the client itself.
func (c *client) reply() {
	c.frame = appendFrame(c.frame[:0], c.msg)
	c.socket.add(c.frame)
}

// settle writes what this client's requests have led to, for it and for others.
// Where that fails a reader sees it.
func (c *client) settle() {
	for i, s := range c.owed {
		_ = s.flush()
		c.owed[i] = nil
	}
	c.owed = c.owed[:0]
	_ = c.socket.flush()
}
