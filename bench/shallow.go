package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/bench/connect"
)

// Shallow lists the keys of wide rows over REST.
type Shallow struct {
	Rows
	Sockets int `json:"sockets" help:"Connections, with one request each at a time." default:"1" env:"-"`
}

func (Shallow) Name() string                { return "shallow" }
func (Shallow) About() (unit, rules string) { return "listings", RowRules }

func (w Shallow) Describe() string {
	return fmt.Sprintf("the keys of %d rows over REST, %d sockets", w.Rows.Rows, w.Sockets)
}

func (w Shallow) WithDefaults() (Workload, error) {
	err := errors.Join(w.setting(), Setting("sockets", &w.Sockets, 1, 1, MaxConnections))
	return w, err
}

func (w Shallow) Drive(ctx context.Context, r *Load) error {
	if err := w.Load(ctx, r); err != nil {
		return err
	}
	request := connect.GetRequest(r.Target, RowsPath, "shallow=true")
	return DriveREST(ctx, r, w.Sockets, func(dst []byte, _ int, _ int64) []byte { return append(dst, request...) })
}
