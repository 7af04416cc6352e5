package peer

import (
	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/quota"
)

// Resources are what a client uses together with others: the clients of one address, or all
// clients without bounds.
type Resources struct {
	Bodies  *limit.Share // bytes of request bodies in memory
	Work    *limit.Share // bytes of what is made of them, and read for answers
	Answers *limit.Share // bytes of large answers in memory
	Pending *limit.Share // bytes of onDisconnect operations
	Readers *limit.Share // places to read values, parse long texts, and decide large writes
	Views   *outbox.Allowance
	Quota   *quota.Quota // nil: without bounds

	HTTP     *limit.Share // connections that are not WebSockets
	Realtime *limit.Share // realtime connections

	listens *limit.Meter // of all quotas
}

// Totals are how many bytes all clients can use together, for each purpose, and how much else
// they can have. 0 is no bound, but of the bytes that are made of bodies and answers.
type Totals struct {
	Bodies, Work, Answers, Pending int64 // bytes
	HTTP, Realtime, Listens        int   // numbers
}

// NewResources returns what all clients share.
func NewResources(m Totals) *Resources {
	r := &Resources{
		Bodies:  limit.NewMeter(m.Bodies).All(),
		Work:    limit.NewMeter(m.Work).All(),
		Answers: limit.NewMeter(m.Answers).All(),
		Pending: limit.NewMeter(bound(m.Pending)).All(),
		Readers: outbox.NewReaders().All(),

		HTTP:     limit.NewMeter(bound(int64(m.HTTP))).All(),
		Realtime: limit.NewMeter(bound(int64(m.Realtime))).All(),
		listens:  limit.NewMeter(bound(int64(m.Listens))),
	}
	r.Views = outbox.NewAllowance(m.Answers, r.Readers)
	return r
}

// share returns what the clients of one address use together.
func (r *Resources) share(l Limits) Resources {
	bytes := bound(int64(l.BodyBytes))
	readers := r.Readers.Meter().Share(limit.Unbounded)
	return Resources{
		Bodies:  r.Bodies.Meter().Share(bytes),
		Work:    r.Work.Meter().Share(limit.Unbounded),
		Answers: r.Answers.Meter().Share(bytes),
		Pending: r.Pending.Meter().Share(bound(l.PendingBytes)),
		Readers: readers,
		Views:   r.Views.Share(bytes, readers),

		HTTP:     r.HTTP.Meter().Share(limit.Unbounded),
		Realtime: r.Realtime.Meter().Share(limit.Unbounded),

		Quota: quota.New(quota.Limits{Listens: int64(l.Listens), All: r.listens, Windows: l.Windows}),
	}
}

// bound returns a bound of which no positive value means that there is none.
func bound(n int64) int64 {
	if n <= 0 {
		return limit.Unbounded
	}
	return n
}
