package consistency

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// An op is one call of a client, and what the client learned. As JSON it is one line of
// a recorded history. Times are nanoseconds since the history began.
type op struct {
	Client string  `json:"client"` // "c7"
	SDK    string  `json:"kind"`   // of the client: "firebase"
	Call   int64   `json:"call"`
	Return int64   `json:"return"` // the client's answer, or when the client gave up
	Input  call    `json:"input"`
	Output outcome `json:"output"`
}

// A call is what a client asked for. It concerns one key.
type call struct {
	Kind kind   `json:"do"`
	Key  string `json:"key"`
	Old  string `json:"old,omitempty"` // of a swap: the value that it replaces; "" is no value
	Tag  string `json:"tag,omitempty"` // of a write or swap: the new value, which no other call writes
}

type kind string

const (
	read  kind = "read"
	write kind = "write" // unconditional
	swap  kind = "swap"  // takes effect only while a certain value is there
)

// An outcome is what a client learned. Without an answer it is unknown: the call
// may have taken effect, may do so at any later time, or not at all.
type outcome struct {
	Unknown bool   `json:"unknown,omitempty"`
	Refused bool   `json:"refused,omitempty"` // a swap whose condition did not hold
	Value   string `json:"value,omitempty"`   // of a read
	Resent  int64  `json:"resent,omitempty"`  // how often a write was perhaps sent again; each may take effect
}

// never is when calls end that have no answer.
const never = math.MaxInt64

// end is the latest time at which the call can have taken effect.
func (o op) end() int64 {
	if o.Output.Unknown {
		return never
	}
	return o.Return
}

// String returns the line of a recorded history.
func (o op) String() string {
	line, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(line)
}

// A history is what all clients did, on one clock.
type history struct {
	began time.Time

	mu  sync.Mutex
	ops []op
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

// add notes a call that has returned.
func (h *history) add(o op) {
	if o.Input.Kind == read && o.Output.Unknown {
		return // nothing was learned
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, o)
}

// figures counts the calls by what became of them.
func (h *history) figures() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := make(map[string]int)
	for _, o := range h.ops {
		name := string(o.Input.Kind) + "s"
		switch {
		case o.Output.Unknown:
			name += " without answer"
		case o.Output.Refused:
			name += " refused"
		}
		n[name]++
		if o.Output.Resent > 0 {
			n["writes perhaps sent again"]++
		}
	}
	return n
}

// failed is the directory of recorded histories. As with the findings of a fuzz test, it
// is next to the test and stays.
const failed = "testdata/failed"

// keep records a history in a directory and returns the name of the file.
func (h *history) keep(dir, name string) (file string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file, err = filepath.Abs(filepath.Join(dir, name+".jsonl"))
	if err != nil {
		return "", err
	}
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	w := bufio.NewWriter(f)
	for _, o := range h.ops {
		fmt.Fprintln(w, o)
	}
	return file, errors.Join(w.Flush(), f.Close())
}

// recorded reads a history that was kept.
func recorded(file string) (ops []op, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		var o op
		switch err := d.Decode(&o); {
		case err == io.EOF:
			return ops, nil
		case err != nil:
			return nil, fmt.Errorf("%s: op %d: %w", file, len(ops)+1, err)
		}
		ops = append(ops, o)
	}
}
