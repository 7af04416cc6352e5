// Package redis has workloads of package bench for Redis: the same operations, over the same
// number of connections with as many in flight, in the protocol of Redis. So a durable write
// can be compared with one of a server that is known everywhere.
package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/connect"
)

// Scheme begins the addresses of servers: redis://127.0.0.1:6379.
const Scheme = "redis://"

// Set is [bench.Set] for Redis: a SET of the same object for each write.
type Set struct{ bench.Set }

// Describe says what is done in a few words.
func (w Set) Describe() string { return w.Set.Describe() + ", Redis" }

// About has no rules, which Redis does not know.
func (Set) About() (unit, rules string) { return "writes", "" }

// WithDefaults returns the workload with all settings.
func (w Set) WithDefaults() (bench.Workload, error) {
	of, err := w.Set.WithDefaults()
	w.Set = of.(bench.Set)
	return w, err
}

// Drive writes over connections of its own.
func (w Set) Drive(ctx context.Context, r *bench.Load) error {
	address, ok := strings.CutPrefix(r.Target.URL, Scheme)
	if !ok {
		return fmt.Errorf("%s: the address of Redis begins with %s", r.Target.URL, Scheme)
	}
	conns := make([]*Conn, w.Connections)
	defer func() {
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
	}()
	err := connect.Parallel(ctx, len(conns), connect.Dialing, func(ctx context.Context, i int) (err error) {
		conns[i], err = Dial(ctx, address)
		return err
	})
	if err != nil {
		return err
	}
	r.Begin()
	return connect.Parallel(ctx, len(conns), len(conns), func(ctx context.Context, i int) error {
		path := "set/c" + strconv.Itoa(i) + "/"
		var key, value []byte
		return bench.NewOrderedPipeline(r, conns[i], i, w.InFlight, func(dst []byte, _, seq int64) []byte {
			key = bench.AppendKey(append(key[:0], path...), seq)
			value = bench.AppendObject(value[:0], seq, w.Size)
			return appendCommand(dst, set, key, value)
		}, wrong).Drive(ctx)
	})
}

var set = []byte("SET")

// wrong says what is wrong with the reply to a SET.
func wrong(reply []byte) string {
	if string(reply) == "+OK" {
		return ""
	}
	return string(reply)
}
