package server

import "github.com/dogwooddb/dogwood/sync/wire"

// A collector puts frames together, within the bound on all that the server
// keeps for requests which are not complete.
type collector struct {
	frames wire.Collector
	budget *budget
	held   int64 // bytes of pieces, taken from budget
}

// add takes a frame and returns the message that it completes. Its errors are
// goodbyes.
func (c *collector) add(text string) (msg string, done bool, err error) {
	msg, done, err = c.frames.Add(text)
	switch {
	case err != nil:
		return "", false, frameError(err)
	case done:
		c.forget()
	case !c.budget.take(int64(len(text))):
		return "", false, goodbye{closeTryAgain, "too many large messages are being sent"}
	default:
		c.held += int64(len(text))
	}
	return msg, done, nil
}

// forget gives back what was held for pieces.
func (c *collector) forget() {
	c.budget.give(c.held)
	c.held = 0
}
