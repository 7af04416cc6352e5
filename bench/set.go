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

// Set writes objects over realtime connections, each at a path of its own, and
// waits for the acknowledgements.
type Set struct {
	Connections int `json:"connections"` // 16
	InFlight    int `json:"inFlight"`    // per connection; 16
	Size        int `json:"size"`        // of an object in bytes; 200
}

func (Set) Name() string      { return "set" }
func (Set) Unit() string      { return "writes" }
func (Set) RulesText() string { return openRules }

func (w Set) Describe() string {
	return fmt.Sprintf("%d connections × %d in flight, %d bytes each", w.Connections, w.InFlight, w.Size)
}

func (w Set) WithDefaults() Workload {
	OrElse(&w.Connections, 16)
	OrElse(&w.InFlight, 16)
	OrElse(&w.Size, 200)
	return w
}

func (w Set) CheckSettings() error {
	return errors.Join(
		Within("connections", w.Connections, 1, MaxConnections),
		Within("in flight", w.InFlight, 1, maxInFlight),
		Within("size", w.Size, len(object(0, 0)), maxObject),
	)
}

func (w Set) Drive(ctx context.Context, r *Load) error {
	conns, err := connect.DialAll(ctx, r.Target, w.Connections, connect.ReadBuffer, nil)
	if err != nil {
		return err
	}
	r.Begin()
	return connect.Parallel(ctx, len(conns), len(conns), func(ctx context.Context, i int) error {
		path := "set/c" + strconv.Itoa(i) + "/"
		var key, value []byte
		return NewPipeline(r, conns[i], i, w.InFlight, func(dst []byte, id, seq int64) []byte {
			key = AppendKey(append(key[:0], path...), seq)
			value = AppendObject(value[:0], seq, w.Size)
			return wire.AppendPut(dst, id, string(key), value)
		}).Drive(ctx)
	})
}

// Bounds of settings: what one process can do, and what servers take.
const (
	MaxConnections = 100_000
	maxInFlight    = 1000
	maxObject      = 1 << 20
	MaxRows        = 10_000_000
)

// Within returns an error if a setting is not within its bounds.
func Within(name string, n, lo, hi int) error {
	if n < lo || n > hi {
		return fmt.Errorf("%s must be between %d and %d, not %d", name, lo, hi, n)
	}
	return nil
}

// OrElse sets a setting that is zero.
func OrElse(field *int, value int) {
	if *field == 0 {
		*field = value
	}
}

// AppendKey appends a key that sorts by its number.
func AppendKey(dst []byte, n int64) []byte {
	const zeros = "k0000000000"
	digits := strconv.AppendInt(make([]byte, 0, 20), n, 10)
	dst = append(dst, zeros[:max(1, len(zeros)-len(digits))]...)
	return append(dst, digits...)
}

// Padding is what objects are filled up with.
var Padding = strings.Repeat("the quick brown fox jumps over the lazy dog ", 1+maxObject/44)

// AppendObject appends an object of the given length as JSON, of several
// fields, or a little longer if it is too short for them.
func AppendObject(dst []byte, n int64, size int) []byte {
	start := len(dst)
	dst = append(dst, `{"n":`...)
	dst = strconv.AppendInt(dst, n, 10)
	dst = append(dst, `,"done":false,"text":"`...)
	fill := max(0, size-(len(dst)-start)-len(`"}`))
	dst = append(dst, Padding[:min(fill, len(Padding))]...)
	return append(dst, `"}`...)
}

func object(n int64, size int) string { return string(AppendObject(nil, n, size)) }
