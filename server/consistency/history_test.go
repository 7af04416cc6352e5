// Package consistency tests what many clients see of one server together, over a
// network that breaks.
package consistency

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// A call is one thing that a client asked for, of one place.
type call struct {
	kind kind
	key  string
	old  string // of a swap: what has to be there; "" is nothing
	tag  string // of a write or swap: what is to be there, unlike all others
}

type kind int

const (
	read  kind = iota
	write      // whatever is there
	swap       // on condition that a certain value is there
)

// An outcome is what a client learned. Without an answer it is unknown: the call
// may have taken effect, may do so any time later, or not at all.
type outcome struct {
	unknown bool
	refused bool   // a swap whose condition did not hold
	value   string // that was read
}

// never is when calls return that have no answer.
const never = math.MaxInt64

// A history is what all clients did, on one clock.
type history struct {
	began time.Time

	mu  sync.Mutex
	ops []porcupine.Operation
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

// add notes a call that began at a time and has just ended.
func (h *history) add(client int, began int64, c call, o outcome) {
	ended := h.now()
	if o.unknown {
		if c.kind == read {
			return // it says nothing
		}
		ended = never
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: c, Call: began, Output: o, Return: ended})
}

// figures counts the calls by what became of them.
func (h *history) figures() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := make(map[string]int)
	for _, op := range h.ops {
		c, o := op.Input.(call), op.Output.(outcome)
		name := [...]string{"reads", "writes", "swaps"}[c.kind]
		switch {
		case o.unknown:
			name += " without answer"
		case o.refused:
			name += " refused"
		}
		n[name]++
	}
	return n
}

// model is what a server is to be: each place has one value at any time, and a
// call takes effect at one moment between its beginning and its end.
func model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: byKey,
		Init:      func() []any { return []any{""} },
		Step: func(state, input, output any) []any {
			return step(state.(string), input.(call), output.(outcome))
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
		DescribeState:     func(state any) string { return fmt.Sprint(state) },
	}
	return m.ToModel()
}

// step returns what may be there after a call, nothing if there cannot have been
// such an outcome.
func step(state string, c call, o outcome) []any {
	switch c.kind {
	case read:
		if state != o.value {
			return nil
		}
		return []any{state}
	case write:
		if o.unknown {
			return []any{state, c.tag}
		}
		return []any{c.tag}
	}
	switch holds := state == c.old; {
	case o.unknown && holds:
		return []any{state, c.tag}
	case o.unknown, o.refused && !holds:
		return []any{state}
	case o.refused, !holds:
		return nil
	}
	return []any{c.tag}
}

// byKey splits a history by the places.
func byKey(ops []porcupine.Operation) (parts [][]porcupine.Operation) {
	at := make(map[string]int)
	for _, op := range ops {
		key := op.Input.(call).key
		i, ok := at[key]
		if !ok {
			i = len(parts)
			at[key] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], op)
	}
	return parts
}
