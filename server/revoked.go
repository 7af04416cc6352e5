package server

import (
	"time"
)

// This file tells open connections at once that their credential was revoked. The
// commands that revoke write into the data directory, perhaps while no server runs;
// so the server watches two directories there, for all connections together.

// Times of the watch. A connection outlives its credential by the sum of the first two
// at most.
const (
	revocationWatch  = 200 * time.Millisecond // between two looks at the directories
	revocationSettle = 400 * time.Millisecond // until they are read again: a clock that is coarse hides a second change
)

// watchRevocations returns when the server stops.
//
// To look at the directories now and then works on every file system, and some
// hundred milliseconds are soon enough. Each connection checks its own credential then; this
// only wakes them.
func (s *Server) watchRevocations() {
	tick := time.NewTicker(revocationWatch)
	defer tick.Stop()
	var settled time.Time // when to read again; zero: not
	seen := s.auth.DataState()
	for {
		select {
		case <-s.stopping:
			return
		case now := <-tick.C:
			state := s.auth.DataState()
			switch {
			case state != seen:
				seen, settled = state, now.Add(revocationSettle)
			case settled.IsZero() || now.Before(settled):
				continue
			default:
				settled = time.Time{}
			}
			s.dismissRevoked()
		}
	}
}

// dismissRevoked ends what the revoked credentials among those in use hold open.
func (s *Server) dismissRevoked() {
	suspect := s.auth.Suspects()
	s.rt.DismissRevoked(suspect)
	for es, id := range s.presented.All() {
		if suspect(id) {
			es.look()
		}
	}
}
