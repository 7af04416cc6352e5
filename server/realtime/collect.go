package realtime

import (
	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// smallMessage is the length up to which a frame is read without asking the
// meter of bodies.
const smallMessage = 4 << 10

// overloaded ends connections whose messages do not fit into memory.
var overloaded = closeReason{closeTryAgain, "too many large messages are being sent"}

// A collector puts frames together, within the bound on all that the server
// keeps for requests which are not complete. forget has to be called when a
// message was handled, and in the end. So clients that begin large messages and
// do not finish them cannot take all memory: they share one bound and have a
// time to finish.
type collector struct {
	frames wire.Collector
	held   limit.Hold // bytes of the frames
	ahead  int64      // part of held: for a frame that add was not called with yet
}

// add takes a frame and returns the message that it completes. Its errors are
// closeReasons.
func (c *collector) add(text string) (msg string, done bool, err error) {
	counted := c.ahead
	c.ahead = 0
	msg, done, err = c.frames.Add(text)
	switch {
	case err != nil:
		return "", false, frameError(err)
	case !done && !c.hold(int64(len(text))-counted):
		return "", false, overloaded
	}
	return msg, done, nil
}

// grow returns text, a frame that is not complete, that can take n more bytes. Its
// errors are closeReasons.
func (c *collector) grow(text []byte, n int) ([]byte, error) {
	if len(text)+n <= cap(text) {
		return text, nil
	}
	size := max(2*cap(text), wire.MaxUnit) // a piece fits exactly
	size = max(min(size, c.frames.MaxBytes), len(text)+n)
	more := int64(size - cap(text))
	if !c.hold(more) {
		return nil, overloaded
	}
	c.ahead += more
	return piecewise.Append(make([]byte, 0, size), text), nil
}

// hold takes n bytes more, none if n is not positive.
func (c *collector) hold(n int64) bool {
	return n <= 0 || c.held.Grow(n) == nil
}

// forget gives back what is held.
func (c *collector) forget() {
	c.held.End()
	c.ahead = 0
}
