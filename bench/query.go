package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// Query reads ranges of an index, all over the rows.
type Query struct {
	Rows
	Window      int    `json:"window" help:"Rows of a range." default:"50" env:"-"`
	Connections int    `json:"connections" help:"Connections, with one query each at a time." default:"1" env:"-"`
	Over        string `json:"over" help:"Interface to query over: socket, rest or both, one after the other." enum:"socket,rest,both" default:"both" env:"-"`
}

// Transports of Query.
const (
	OverSocket = "socket"
	OverREST   = "rest"
)

func (Query) Name() string                { return "query" }
func (Query) About() (unit, rules string) { return "queries", RowRules }

func (w Query) Describe() string {
	return fmt.Sprintf("an indexed range of %d of %d rows over %s, %d connections", w.Window, w.Rows.Rows, w.Over, w.Connections)
}

func (w Query) WithDefaults() (Workload, error) {
	err := errors.Join(
		w.setting(),
		Setting("window", &w.Window, 50, 1, 100_000),
		Setting("connections", &w.Connections, 1, 1, MaxConnections),
		oneOf("over", &w.Over, OverSocket, OverREST),
	)
	return w, err
}

func (w Query) Drive(ctx context.Context, r *Load) error {
	if r.Target.Secret == "" {
		return errors.New("the index needs an administrator's credential to be declared")
	}
	if err := w.Load(ctx, r); err != nil {
		return err
	}
	if w.Over == OverREST {
		return w.overREST(ctx, r)
	}
	return w.overSocket(ctx, r)
}

func (w Query) overREST(ctx context.Context, r *Load) error {
	before, after, _ := strings.Cut(connect.GetRequest(r.Target, RowsPath, `orderBy=%22n%22&limitToFirst=`+strconv.Itoa(w.Window)+`&startAt=~`), "~")
	return DriveREST(ctx, r, w.Connections, func(dst []byte, n int, seq int64) []byte {
		dst = append(dst, before...)
		dst = strconv.AppendInt(dst, int64(w.start(n, seq)), 10)
		return append(dst, after...)
	})
}

// start returns where the seq-th range of connection n begins.
func (w Query) start(n int, seq int64) int {
	return w.Rows.First(seq*int64(w.Connections)+int64(n), w.Window)
}

func (w Query) overSocket(ctx context.Context, r *Load) error {
	conns, err := connect.DialAll(ctx, r.Target, w.Connections, connect.ReadBuffer, nil)
	if err != nil {
		return err
	}
	r.Begin()
	return connect.Parallel(ctx, len(conns), len(conns), func(ctx context.Context, i int) error {
		var query []byte
		p := NewPipeline(r, conns[i], i, 1, func(dst []byte, id, seq int64) []byte {
			query = append(query[:0], `{"i":"n","vf":"l","l":`...)
			query = strconv.AppendInt(query, int64(w.Window), 10)
			query = append(query, `,"sin":true,"sp":`...)
			query = strconv.AppendInt(query, int64(w.start(i, seq)), 10)
			query = append(query, '}')
			return wire.AppendGet(dst, id, RowsPath, string(query))
		})
		p.check = func(m *wire.ServerMessage) string {
			if len(m.Data) < 2 || string(m.Data) == "null" {
				return "an empty range"
			}
			return ""
		}
		return p.Drive(ctx)
	})
}
