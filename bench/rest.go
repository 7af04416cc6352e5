package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/bench/connect"
)

// RESTGet reads one small value over keep-alive connections.
type RESTGet struct {
	Sockets int `json:"sockets" help:"Connections, with one request each at a time." default:"32" env:"-"`
	Size    int `json:"size" kong:"-"` // of the value in bytes; the smallest object
}

func (RESTGet) Name() string                { return "rest-get" }
func (RESTGet) About() (unit, rules string) { return "requests", openRules }

func (w RESTGet) Describe() string {
	return fmt.Sprintf("GET of %d bytes, %d sockets", w.Size, w.Sockets)
}

func (w RESTGet) WithDefaults() (Workload, error) {
	err := restSettings(&w.Sockets, &w.Size)
	return w, err
}

func (w RESTGet) Drive(ctx context.Context, r *Load) error {
	const path = "/rest/value"
	if err := r.Admin.Put(ctx, path, strings.NewReader(object(0, w.Size))); err != nil {
		return fmt.Errorf("write the value: %w", err)
	}
	request := connect.GetRequest(r.Target, path, "")
	return DriveREST(ctx, r, w.Sockets, func(dst []byte, _ int, _ int64) []byte { return append(dst, request...) })
}

// RESTPut writes small values over keep-alive connections, each at a path of
// its own.
type RESTPut struct {
	Sockets int `json:"sockets" help:"Connections, with one request each at a time." default:"32" env:"-"`
	Size    int `json:"size" kong:"-"` // of the value in bytes; the smallest object
}

func (RESTPut) Name() string                { return "rest-put" }
func (RESTPut) About() (unit, rules string) { return "requests", openRules }

func (w RESTPut) Describe() string {
	return fmt.Sprintf("PUT of %d bytes, %d sockets", w.Size, w.Sockets)
}

func (w RESTPut) WithDefaults() (Workload, error) {
	err := restSettings(&w.Sockets, &w.Size)
	return w, err
}

func restSettings(sockets, size *int) error {
	least := len(object(0, 0))
	return errors.Join(Setting("sockets", sockets, 32, 1, MaxConnections), Setting("size", size, least, least, maxObject))
}

func (w RESTPut) Drive(ctx context.Context, r *Load) error {
	values := make([][]byte, w.Sockets)
	return DriveREST(ctx, r, w.Sockets, func(dst []byte, n int, seq int64) []byte {
		values[n] = AppendObject(values[n][:0], seq, w.Size)
		path := string(AppendKey([]byte("/rest/s"+strconv.Itoa(n)+"/"), seq))
		dst = append(dst, connect.RequestHead(r.Target, "PUT", path, "")...)
		dst = append(dst, "Content-Type: application/json\r\nContent-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(values[n])), 10)
		dst = append(dst, "\r\n\r\n"...)
		return append(dst, values[n]...)
	})
}

// DriveREST sends requests over a number of sockets, one at a time on each,
// until the schedule ends. build appends the seq-th request of a socket.
func DriveREST(ctx context.Context, r *Load, sockets int, build func(dst []byte, socket int, seq int64) []byte) error {
	conns := make([]*connect.HTTPConn, sockets)
	defer func() {
		for _, h := range conns {
			if h != nil {
				h.Close()
			}
		}
	}()
	err := connect.Parallel(ctx, sockets, connect.Dialing, func(ctx context.Context, i int) (err error) {
		conns[i], err = connect.DialHTTP(ctx, r.Target)
		return err
	})
	if err != nil {
		return err
	}
	r.Begin()
	return connect.Parallel(ctx, sockets, sockets, func(ctx context.Context, i int) error {
		defer context.AfterFunc(ctx, conns[i].Close)()
		return requestAll(ctx, conns[i], r, i, build)
	})
}

// requestAll sends requests over one socket until the schedule ends.
func requestAll(ctx context.Context, h *connect.HTTPConn, r *Load, n int, build func(dst []byte, socket int, seq int64) []byte) error {
	var request []byte
	for seq := int64(0); ; seq++ {
		due, ok := r.Next()
		if !ok || !r.Wait(ctx, due) {
			return nil
		}
		request = build(request[:0], n, seq)
		status, _, err := h.Do(request)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil // it was interrupted
		case err != nil:
			return err
		case status/100 == 2:
			r.Done(n, due)
		default:
			r.failed(n, "status "+strconv.Itoa(status))
		}
	}
}
