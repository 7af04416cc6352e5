package outbox

import "github.com/dogwooddb/dogwood/limit"

// TakeAway is Take for long polls. A client has several of these, and what one of them has taken may
// not have been sent when the next one takes something, or when the outbox is closed or another
// transport takes from it. So what is taken counts in held, which holds nothing before, until the
// caller ends it; and without room for max bytes there are few.
func TakeAway(o *Outbox, max int, held *limit.Hold) [][]byte {
	if o.allowance == nil {
		return o.Take(max)
	}
	held.Of = o.allowance.memory
	if n, _ := o.Backlog(); n > 0 {
		// One byte more is free again: a message that is made needs room for some of it.
		if held.Grow(int64(max)+1) == nil {
			held.Settle(int64(max))
		} else {
			max = smallMessage
		}
	}
	msgs := o.Take(max)
	var size int64
	for _, msg := range msgs {
		size += int64(len(msg))
	}
	held.Settle(size)
	o.sent() // held has it
	return msgs
}
