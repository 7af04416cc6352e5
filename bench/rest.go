package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// RESTGet reads one small value over keep-alive connections.
type RESTGet struct {
	Sockets int `json:"sockets"` // one request each at a time; 32
	Size    int `json:"size"`    // of the value in bytes; the smallest object
}

func (RESTGet) Name() string  { return "rest-get" }
func (RESTGet) unit() string  { return "requests" }
func (RESTGet) rules() string { return openRules }

func (w RESTGet) Describe() string {
	return fmt.Sprintf("GET of %d bytes, %d sockets", w.Size, w.Sockets)
}

func (w RESTGet) withDefaults() Workload {
	orElse(&w.Sockets, 32)
	orElse(&w.Size, len(object(0, 0)))
	return w
}

func (w RESTGet) check() error { return checkREST(w.Sockets, w.Size) }

func (w RESTGet) drive(ctx context.Context, r *run) error {
	const path = "/rest/value"
	if err := r.admin.put(ctx, path, strings.NewReader(object(0, w.Size))); err != nil {
		return fmt.Errorf("write the value: %w", err)
	}
	request := getRequest(r.Target, path, "")
	return driveREST(ctx, r, w.Sockets, func(dst []byte, _ int, _ int64) []byte { return append(dst, request...) })
}

// RESTPut writes small values over keep-alive connections, each at a path of
// its own.
type RESTPut struct {
	Sockets int `json:"sockets"` // one request each at a time; 32
	Size    int `json:"size"`    // of the value in bytes; the smallest object
}

func (RESTPut) Name() string  { return "rest-put" }
func (RESTPut) unit() string  { return "requests" }
func (RESTPut) rules() string { return openRules }

func (w RESTPut) Describe() string {
	return fmt.Sprintf("PUT of %d bytes, %d sockets", w.Size, w.Sockets)
}

func (w RESTPut) withDefaults() Workload {
	orElse(&w.Sockets, 32)
	orElse(&w.Size, len(object(0, 0)))
	return w
}

func (w RESTPut) check() error { return checkREST(w.Sockets, w.Size) }

func checkREST(sockets, size int) error {
	return errors.Join(
		within("sockets", sockets, 1, maxConnections),
		within("size", size, len(object(0, 0)), maxObject),
	)
}

func (w RESTPut) drive(ctx context.Context, r *run) error {
	values := make([][]byte, w.Sockets)
	return driveREST(ctx, r, w.Sockets, func(dst []byte, n int, seq int64) []byte {
		values[n] = appendObject(values[n][:0], seq, w.Size)
		path := string(appendKey([]byte("/rest/s"+strconv.Itoa(n)+"/"), seq))
		dst = append(dst, requestHead(r.Target, "PUT", path, "")...)
		dst = append(dst, "Content-Type: application/json\r\nContent-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(values[n])), 10)
		dst = append(dst, "\r\n\r\n"...)
		return append(dst, values[n]...)
	})
}
