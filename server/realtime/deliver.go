package realtime

// deliver writes what there is as far as the network takes it at once. The rest
// is for a goroutine of the socket's own, and so is what has to be read from the
// database. After an error writing stays set, so nothing is written any more.
func (s *socket) deliver(b *writeBuffer) {
	again, err := s.writeReady(b)
	switch {
	case err == errMustWait:
		go s.write(append([]byte(nil), b.buf...))
	case err != nil:
		s.cutOff()
		s.writers.Done()
	case again || s.moreToWrite():
		s.rt.pool.add(s)
	default:
		s.writers.Done()
	}
	b.buf = b.buf[:0]
}

// readySize is about how much a writer of the pool writes at a time.
const readySize = 32 << 10

// writeReady writes what is ready. With errMustWait the rest, which may begin in
// the middle of a frame, is in b. again tells that there is more.
func (s *socket) writeReady(b *writeBuffer) (again bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.rt.panicked("deliver", p)
			err = errPanicked
		}
	}()
	live, ok := s.prepare(b)
	if !ok {
		return false, errMustWait
	}
	if err := s.frameAll(b); err != nil {
		return false, err
	}
	if live {
		b.msgs, again = s.c.out.TakeReady(b.msgs[:0], readySize)
		if again && len(b.msgs) == 0 {
			s.c.out.Unsent(len(b.buf))
			return false, errMustWait
		}
		if err := s.frameAll(b); err != nil {
			return false, err
		}
	}
	if len(b.buf) > 0 {
		err := b.writeTo(s.raw)
		s.rt.opts.Metrics.Sockets.Sent(max(b.n, 0))
		if err == errMustWait && live {
			s.c.out.Unsent(len(b.buf))
		}
		if err != nil {
			return false, err
		}
	}
	if live {
		if err := s.c.out.Closing(); err != nil {
			s.end(outboxError(err))
		}
	}
	return again, nil
}

// prepare reports whether the pool can write to s. If so it puts pings and pongs that are due
// into b, and moves the messages that come before those of the outbox there.
func (s *socket) prepare(b *writeBuffer) (live, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = false
	if s.raw == nil || s.ended {
		return false, false
	}
	s.appendControl(b)
	b.msgs = append(b.msgs[:0], s.queue...)
	s.queue = nil
	return s.live, true
}

// frameAll puts the frames of b's messages into it. They were chosen to fit.
func (s *socket) frameAll(b *writeBuffer) error {
	for i, msg := range b.msgs {
		if err := s.frame(b, msg); err != nil {
			return err
		}
		b.msgs[i] = nil
		for _, frame := range b.frames {
			b.buf = appendFrame(b.buf, opText, frame)
		}
	}
	return nil
}
