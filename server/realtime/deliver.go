package realtime

// deliver writes what there is as far as the network takes it at once. The rest
// is for a goroutine of the socket's own, and so is what has to be read from the
// database. After an error writing is over, so nothing is written any more.
func (s *socket) deliver(b *writeBuffer) {
	again, err := s.writeReady(b)
	switch {
	case err == errMustWait:
		if len(b.buf) > 0 && s.writing.isLive() {
			s.c.out.Unsent(len(b.buf))
		}
		go s.write(append([]byte(nil), b.buf...))
	case err != nil:
		s.cutOff()
		s.writing.end()
	case again || s.writing.goesOn():
		s.rt.pool.add(s)
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
	live, err := s.prepare(b)
	if err != nil {
		return false, err
	}
	if live {
		b.msgs, again = s.c.out.TakeReady(b.msgs[:0], readySize)
		if again && len(b.msgs) == 0 {
			return false, errMustWait
		}
		if err := s.frameAll(b); err != nil {
			return false, err
		}
	}
	if len(b.buf) > 0 {
		err := b.writeTo(s.raw)
		b.sent += max(b.n, 0)
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

// prepare puts into b what comes before the outbox: pings and pongs that are due, and messages
// of the socket itself. live tells whether the outbox comes next. With errMustWait the pool
// cannot write to s.
func (s *socket) prepare(b *writeBuffer) (live bool, err error) {
	if !s.writing.begin() && s.raw != nil {
		return true, nil
	}
	if live, err = s.takeOwn(b); err != nil {
		return live, err
	}
	return live, s.frameAll(b)
}

// takeOwn puts pings and pongs that are due into b, and moves messages of the socket itself
// there, unless the pool cannot write to it.
func (s *socket) takeOwn(b *writeBuffer) (live bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.raw == nil || s.ended {
		return false, errMustWait
	}
	s.appendControl(b)
	b.msgs = append(b.msgs[:0], s.queue...)
	s.queue = nil
	return s.writing.isLive(), nil
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
