package bench

import (
	"context"
	"errors"
	"fmt"
)

// Shallow lists the keys of wide rows over REST.
type Shallow struct {
	Rows
	Sockets int `json:"sockets"` // 1
}

func (Shallow) Name() string  { return "shallow" }
func (Shallow) unit() string  { return "listings" }
func (Shallow) rules() string { return rowRules }

func (w Shallow) Describe() string {
	return fmt.Sprintf("the keys of %d rows over REST, %d sockets", w.Rows.Rows, w.Sockets)
}

func (w Shallow) withDefaults() Workload {
	w.setDefaults()
	orElse(&w.Sockets, 1)
	return w
}

func (w Shallow) check() error {
	return errors.Join(w.Rows.check(), within("sockets", w.Sockets, 1, maxConnections))
}

func (w Shallow) drive(ctx context.Context, r *run) error {
	if err := w.load(ctx, r); err != nil {
		return err
	}
	request := getRequest(r.Target, rowsPath, "shallow=true")
	return driveREST(ctx, r, w.Sockets, func(dst []byte, _ int, _ int64) []byte { return append(dst, request...) })
}
