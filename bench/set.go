package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// Set writes objects over realtime connections, each at a path of its own, and
// waits for the acknowledgements.
type Set struct {
	Connections int `json:"connections"` // 16
	InFlight    int `json:"inFlight"`    // per connection; 16
	Size        int `json:"size"`        // of an object in bytes; 200
}

// readBuffer is that of connections on which much arrives.
const readBuffer = 32 << 10

func (Set) Name() string  { return "set" }
func (Set) unit() string  { return "writes" }
func (Set) rules() string { return openRules }

func (w Set) Describe() string {
	return fmt.Sprintf("%d connections × %d in flight, %d bytes each", w.Connections, w.InFlight, w.Size)
}

func (w Set) withDefaults() Workload {
	orElse(&w.Connections, 16)
	orElse(&w.InFlight, 16)
	orElse(&w.Size, 200)
	return w
}

func (w Set) check() error {
	return errors.Join(
		within("connections", w.Connections, 1, maxConnections),
		within("in flight", w.InFlight, 1, maxInFlight),
		within("size", w.Size, len(object(0, 0)), maxObject),
	)
}

func (w Set) drive(ctx context.Context, r *run) error {
	conns, err := r.dialAll(ctx, w.Connections, readBuffer, nil)
	if err != nil {
		return err
	}
	r.begin()
	return parallel(ctx, len(conns), len(conns), func(ctx context.Context, i int) error {
		path := "set/c" + strconv.Itoa(i) + "/"
		var key, value []byte
		return newPipeline(r, conns[i], i, w.InFlight, func(dst []byte, id, seq int64) []byte {
			key = appendKey(append(key[:0], path...), seq)
			value = appendObject(value[:0], seq, w.Size)
			return wire.AppendPut(dst, id, string(key), value)
		}).drive(ctx)
	})
}

// Bounds of settings: what one process can do, and what servers take.
const (
	maxConnections = 100_000
	maxInFlight    = 1000
	maxObject      = 1 << 20
	maxRows        = 10_000_000
)

func within(name string, n, lo, hi int) error {
	if n < lo || n > hi {
		return fmt.Errorf("%s must be between %d and %d, not %d", name, lo, hi, n)
	}
	return nil
}

func orElse(field *int, value int) {
	if *field == 0 {
		*field = value
	}
}

// appendKey appends a key that sorts by its number.
func appendKey(dst []byte, n int64) []byte {
	const zeros = "k0000000000"
	digits := strconv.AppendInt(make([]byte, 0, 20), n, 10)
	dst = append(dst, zeros[:max(1, len(zeros)-len(digits))]...)
	return append(dst, digits...)
}

// padding is what objects are filled up with.
var padding = strings.Repeat("the quick brown fox jumps over the lazy dog ", 1+maxObject/44)

// appendObject appends an object of the given length as JSON, of several
// fields, or a little longer if it is too short for them.
func appendObject(dst []byte, n int64, size int) []byte {
	start := len(dst)
	dst = append(dst, `{"n":`...)
	dst = strconv.AppendInt(dst, n, 10)
	dst = append(dst, `,"done":false,"text":"`...)
	fill := max(0, size-(len(dst)-start)-len(`"}`))
	dst = append(dst, padding[:min(fill, len(padding))]...)
	return append(dst, `"}`...)
}

func object(n int64, size int) string { return string(appendObject(nil, n, size)) }
