package sync

import "context"

// making is how many times the size of a value is taken until a message has been made
// of it: of the realtime protocol, both are there; of an event stream, also the value in
// its plain form.
func (f Format) making() int64 {
	if f == EventStream {
		return 3
	}
	return 2
}

// TakeFrom makes an outbox take the memory for values that it reads from m, until they
// are messages. It must be called before the outbox is used.
func (o *Outbox) TakeFrom(m Memory) { o.memory = m }

// hold is asked before the messages of an item take much memory. Only who makes them
// calls it.
func (o *Outbox) hold(total int64) error {
	if o.memory == nil {
		return nil
	}
	more := o.format.making()*total - o.making
	if more <= 0 {
		return nil
	}
	if err := o.memory.Reserve(context.Background(), more); err != nil {
		return err
	}
	o.making += more
	return nil
}

// unhold gives back what hold took for an item.
func (o *Outbox) unhold() {
	if o.making > 0 {
		o.memory.Release(o.making)
		o.making = 0
	}
}
