package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// Set writes objects over realtime connections, each at a path of its own, and
// waits for the acknowledgements.
type Set struct {
	Connections int `json:"connections" help:"Connections that write." default:"16" env:"-"`
	InFlight    int `json:"inFlight" help:"Unacknowledged writes of each connection." default:"16" env:"-"`
	Size        int `json:"size" help:"Bytes of an object." default:"200" env:"-"`
}

func (Set) Name() string                { return "set" }
func (Set) About() (unit, rules string) { return "writes", openRules }

func (w Set) Describe() string {
	return fmt.Sprintf("%d connections × %d in flight, %d bytes each", w.Connections, w.InFlight, w.Size)
}

func (w Set) WithDefaults() (Workload, error) {
	err := errors.Join(
		Setting("connections", &w.Connections, 16, 1, MaxConnections),
		Setting("in flight", &w.InFlight, 16, 1, maxInFlight),
		Setting("size", &w.Size, 200, len(object(0, 0)), maxObject),
	)
	return w, err
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

// Setting sets a setting that is zero to its default, and returns an error if it is not
// within its bounds.
func Setting(name string, field *int, otherwise, lo, hi int) error {
	if *field = cmp.Or(*field, otherwise); *field < lo || *field > hi {
		return fmt.Errorf("%s must be between %d and %d, not %d", name, lo, hi, *field)
	}
	return nil
}

// oneOf is Setting for one of two words. The first one is the default.
func oneOf(name string, field *string, a, b string) error {
	if *field = cmp.Or(*field, a); *field != a && *field != b {
		return fmt.Errorf("%s must be %q or %q, not %q", name, a, b, *field)
	}
	return nil
}

// AppendKey appends a key that sorts by its number.
func AppendKey(dst []byte, n int64) []byte {
	const zeros = "k0000000000"
	digits := strconv.AppendInt(make([]byte, 0, 20), n, 10)
	dst = append(dst, zeros[:max(1, len(zeros)-len(digits))]...)
	return append(dst, digits...)
}

// Padding returns so many bytes of what objects are filled up with, at most maxObject.
func Padding(size int) string { return padding()[:size] }

// padding is made when it is needed: the command line of every command has this package.
var padding = sync.OnceValue(func() string {
	return strings.Repeat("the quick brown fox jumps over the lazy dog ", 1+maxObject/44)
})

// AppendObject appends an object of the given length as JSON, of several
// fields, or a little longer if it is too short for them.
func AppendObject(dst []byte, n int64, size int) []byte {
	start := len(dst)
	dst = append(dst, `{"n":`...)
	dst = strconv.AppendInt(dst, n, 10)
	dst = append(dst, `,"done":false,"text":"`...)
	fill := max(0, size-(len(dst)-start)-len(`"}`))
	dst = append(dst, padding()[:min(fill, len(padding()))]...)
	return append(dst, `"}`...)
}

func object(n int64, size int) string { return string(AppendObject(nil, n, size)) }
