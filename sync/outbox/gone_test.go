package outbox

import (
	"testing"
	"testing/synctest"

	"github.com/dogwooddb/dogwood/limit"
)

// TestClosedOutboxesDoNotWait: what waits to be made for a client gives up its place in the
// queue when the client has gone, and is not made.
func TestClosedOutboxesDoNotWait(t *testing.T) {
	for _, what := range []string{"value", "view", "brief read", "turn"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newAllowance(1 << 20)
				for _, busy := range []*limit.Share{b.values, b.views, b.briefs} {
					entered(busy)
				}
				made := false
				messages := func() [][]byte {
					made = true
					return nil
				}
				o := New(Realtime, 0, func() {})
				o.Share(share(b, 1<<20))
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					switch what {
					case "value":
						o.PushLater(0, messages)
					case "view":
						o.PushView(&View{}, 0, messages)
					case "brief read":
						o.PushRead(0, messages)
					case "turn":
						if _, ok := o.TakeTurn(true); ok {
							t.Error("a turn for a client that has gone")
						}
					}
					o.Take(1)
				}()
				synctest.Wait()
				o.Close()
				synctest.Wait()
				select {
				case <-ended:
				default:
					t.Error("it goes on to wait")
					b.values.Release(1)
					b.views.Release(1)
					b.briefs.Release(1)
					synctest.Wait()
				}
				if made {
					t.Error("the messages were made for a client that has gone")
				}
			})
		})
	}
}

// TestPlaceAfterTheEnd: an outbox that is closed gives back the place that it is given.
func TestPlaceAfterTheEnd(t *testing.T) {
	b := newAllowance(1 << 20)
	o := New(Realtime, 0, func() {})
	o.Share(b)
	o.Close()
	for _, brief := range []bool{true, false} {
		if _, ok := o.TakeTurn(brief); ok {
			t.Error("a turn for a client that has gone")
		}
	}
	if b.values.Used()+b.briefs.Used() != 0 {
		t.Error("a place is lost")
	}
}

// TestBriefReads: a read is tried in a place of brief reads, and made among the others only
// if it takes long.
func TestBriefReads(t *testing.T) {
	for _, long := range []bool{false, true} {
		b := newAllowance(1 << 20)
		o := New(Realtime, 0, func() {})
		o.Share(b)
		var attempts []string
		o.PushRead(0, func() [][]byte {
			brief, again := o.Attempt()
			switch {
			case brief && b.briefs.Used() == 1 && b.values.Used() == 0:
				attempts = append(attempts, "brief")
			case again && b.briefs.Used() == 0 && b.values.Used() == 1:
				attempts = append(attempts, "again")
			default:
				t.Errorf("brief %v, again %v, with %d places of brief reads and %d others", brief, again, b.briefs.Used(), b.values.Used())
			}
			if brief && long {
				o.PutOff()
				return nil
			}
			return [][]byte{[]byte("x")}
		})
		if got := len(o.Take(1)); got != 1 {
			t.Errorf("%d messages", got)
		}
		if long != (len(attempts) == 2) {
			t.Errorf("long %v: attempts %v", long, attempts)
		}
		if b.values.Used()+b.briefs.Used() != 0 {
			t.Error("a place is lost")
		}
	}
}
