package server

import (
	"strings"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// smallMessage is the length up to which a frame is read without asking the
// budget.
const smallMessage = 4 << 10

var crowded = goodbye{closeTryAgain, "too many large messages are being sent"}

// A collector puts frames together, within the bound on all that the server
// keeps for requests which are not complete. forget has to be called when a
// message was handled, and in the end.
type collector struct {
	frames wire.Collector
	budget *budget
	held   int64 // bytes taken from budget
	ahead  int64 // part of held: for a frame that add was not called with yet
}

// add takes a frame and returns the message that it completes. Its errors are
// goodbyes.
func (c *collector) add(text string) (msg string, done bool, err error) {
	counted := c.ahead
	c.ahead = 0
	msg, done, err = c.frames.Add(text)
	switch {
	case err != nil:
		return "", false, frameError(err)
	case !done && !c.hold(int64(len(text))-counted):
		return "", false, crowded
	}
	return msg, done, nil
}

// grow makes room in text, a frame that is not complete, for n more bytes. Its
// errors are goodbyes.
func (c *collector) grow(text *strings.Builder, n int) error {
	if text.Len()+n <= text.Cap() {
		return nil
	}
	size := max(2*text.Cap(), wire.MaxUnit) // a piece fits exactly
	size = max(min(size, c.frames.MaxBytes), text.Len()+n)
	more := int64(size - text.Cap())
	if !c.hold(more) {
		return crowded
	}
	c.ahead += more
	old := text.String()
	text.Reset()
	text.Grow(size) // exactly, since it is empty
	text.WriteString(old)
	return nil
}

// hold takes n bytes from the budget, none if n is not positive.
func (c *collector) hold(n int64) bool {
	if n <= 0 {
		return true
	}
	if !c.budget.take(n) {
		return false
	}
	c.held += n
	return true
}

// forget gives back what is held.
func (c *collector) forget() {
	if c.held > 0 {
		c.budget.give(c.held)
	}
	c.held, c.ahead = 0, 0
}
