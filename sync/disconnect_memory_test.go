package sync

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
)

// TestPendingMemoryIsGivenBack: what sessions leave for their disconnect takes no memory of the
// server when they have ended, and it was carried out or given up, or the database is closed.
func TestPendingMemoryIsGivenBack(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(t *testing.T, db *Database, s *Session, log *faultyLog)
	}{
		{"carried out", func(_ *testing.T, _ *Database, s *Session, _ *faultyLog) { s.Close() }},
		{"closed before", func(_ *testing.T, db *Database, s *Session, _ *faultyLog) {
			db.BeginClose()
			s.Close()
		}},
		{"closed while it is queued", func(t *testing.T, db *Database, s *Session, _ *faultyLog) {
			g := closeGate(t, db)
			ended := make(chan error)
			go func() { ended <- db.runDisconnect(s) }() // as Session.Close does
			synctest.Wait()
			db.BeginClose()
			close(g.open)
			<-ended
		}},
		{"closed while it is late", func(_ *testing.T, db *Database, s *Session, log *faultyLog) {
			log.set(true)
			s.Close()
			db.BeginClose()
			<-db.done
		}},
		{"given up", func(_ *testing.T, _ *Database, s *Session, log *faultyLog) {
			log.set(true)
			s.Close()
			time.Sleep(10 * maxTries * probeEvery)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, meter := new(faultyLog), limit.NewMeter(1<<20)
				db, err := Open(Options{Rules: rules.Open(), Change: log, ScrubEvery: -1})
				if err != nil {
					t.Fatal(err)
				}
				a := connect(t, db, "a", 0)
				a.session.pendingBytes = meter.All()
				a.leaves(2)
				if meter.Used() == 0 {
					t.Error("they take no memory")
				}
				c.end(t, db, a.session, log)
				if n := meter.Used(); n != 0 {
					t.Errorf("%d bytes are still held", n)
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
