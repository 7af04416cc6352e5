package limit

import "time"

// A usage is the time for which a share has held places of a timed meter. The meter is a fair
// queue: the share comes first that would have used least after its next place.
type usage struct {
	clock time.Duration // virtual: the time used so far, once for each place
	since time.Time     // as of when
	spent time.Duration // of it since a place was given back
	usual time.Duration // how long the share holds one place
	known bool          // the share has given one back
}

// NewPlaces returns a meter of places for work that keeps a processor busy, held 1 at a time.
// Shares that wait for one come in the order of the time for which they have held places, not
// one after the other: a share whose work is short gets in before shares whose work is long,
// however many of these wait. Time in which a share held and wanted nothing is not saved up,
// and while none waits, the time that is used counts for nothing.
func NewPlaces(max int64) *Meter { return &Meter{max: max, timed: true} }

// begin is called before s holds more or gets into the queue. It makes a share that held
// little equal to those that get in now, and all shares equal if none waits. A share that
// never held a place begins behind the others, as if it had held one for the usual time. If to
// be new were an advantage, the others would wait for ever for the new addresses of a client
// that has many. mu is held.
func (s *Share) begin() {
	m, u := s.meter, s.time
	if u == nil || s.isQueued() {
		return
	}
	if len(m.queue) == 0 {
		m.now = max(m.now, m.latest)
	}
	from := m.now - time.Duration(s.used)*s.each()
	if !u.known {
		from += m.usual
	}
	u.clock = max(u.clock, from)
}

// charge adds to the clock of s, which is about to hold n more, what it held since it was
// charged last. mu is held.
func (s *Share) charge(n int64) {
	m, u, now := s.meter, s.time, time.Now()
	if s.used > 0 {
		took := time.Duration(s.used) * now.Sub(u.since)
		u.clock += took
		u.spent += took
		m.latest = max(m.latest, u.clock)
	}
	if u.since = now; n >= 0 {
		return
	}
	took := u.spent / time.Duration(-n)
	if !u.known {
		u.usual, u.known = took, true
	}
	u.usual += (took - u.usual) / 4
	m.usual += (took - m.usual) / 16
	u.spent = 0
}

// each returns how long s, of a timed meter, usually holds a place. mu is held.
func (s *Share) each() time.Duration {
	if s.time.known {
		return s.time.usual
	}
	return s.meter.usual
}

// start returns the clock of s with what it holds, by how long it usually holds a place. mu
// is held.
func (s *Share) start() time.Duration {
	if s.time == nil {
		return 0
	}
	return s.time.clock + time.Duration(s.used)*s.each()
}

// due returns the clock of s after its next place. mu is held.
func (s *Share) due() time.Duration {
	if s.time == nil {
		return 0
	}
	return s.start() + s.each()
}
