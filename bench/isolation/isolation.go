// Package isolation measures what one client of a server can do to the others: it is the
// workload of "dogwood bench isolation".
package isolation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/bench"
)

// A Workload is a bystander that writes and reads small values at a fixed rate, first alone
// and then during one attack after the other. The attacks come from another address, and
// from another process if [bench.Options.Attackers] is set. They are requests that a user
// without administrator rights can send.
//
// A [bench.Result] has a [bench.Trial] for each attack, and a fault for each one in which the
// bystander waits too long or the server takes too much memory.
type Workload struct {
	Attacker string        `json:"attacker"` // source address of the attacks; 127.0.0.2
	Only     []string      `json:"only"`     // names of attacks; empty for all
	Each     time.Duration `json:"each"`     // how long each attack is measured; 5 s
	Rate     float64       `json:"rate"`     // writes, and as many reads, of the bystander per second; 50
	MaxMiB   float64       `json:"maxMiB"`   // bound of the server's memory without the mapped file; 0 for none
}

// The bystander's p99 stays below maxSlowdown times that without an attack, or
// below slowdownFloor where that is more, and below maxWait in any case.
const (
	maxSlowdown   = 10
	slowdownFloor = 25 * time.Millisecond
	maxWait       = 500 * time.Millisecond
)

func (Workload) Name() string                { return "isolation" }
func (Workload) About() (unit, rules string) { return "operations", isolationRules }

func (w Workload) Describe() string {
	return fmt.Sprintf("a bystander with %g writes and reads per second; attacks from %s, %s each", w.Rate, w.Attacker, w.Each)
}

func (w Workload) WithDefaults() (bench.Workload, error) {
	w.Attacker = cmp.Or(w.Attacker, "127.0.0.2")
	w.Each, w.Rate = cmp.Or(w.Each, 5*time.Second), cmp.Or(w.Rate, 50)
	_, err := netip.ParseAddr(w.Attacker)
	if w.Each < time.Second || w.Rate < 1 || w.Rate > 1000 {
		err = errors.Join(err, errors.New("an attack must last for at least 1s, and the rate must be between 1 and 1000"))
	}
	_, unknown := w.attacks()
	err = errors.Join(err, unknown)
	return w, err
}

// attacks returns those that are asked for.
func (w Workload) attacks() (list []attack, err error) {
	if len(w.Only) == 0 {
		return attacks, nil
	}
	for _, name := range w.Only {
		found := false
		for _, a := range attacks {
			if a.name == name {
				list, found = append(list, a), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no attack %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	return list, nil
}

// Names returns the names of all attacks of [Workload].
func Names() (names []string) {
	for _, a := range attacks {
		names = append(names, a.name)
	}
	return names
}

func (w Workload) Drive(ctx context.Context, r *bench.Load) error {
	if r.Target.Secret == "" {
		return errors.New("an administrator's credential is needed to sign the tokens of users")
	}
	if err := w.fill(ctx, r); err != nil {
		return fmt.Errorf("fill the database: %w", err)
	}
	list, err := w.attacks()
	if err != nil {
		return err
	}
	r.Begin()
	alone, err := w.trial(ctx, r, attack{name: "none"})
	if err != nil {
		return err
	}
	r.AddTrial(alone)
	for _, a := range list {
		r.Enter(a.name)
		t, err := w.trial(ctx, r, a)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		r.AddTrial(t)
		w.judge(r, alone, t)
	}
	return nil
}

// judge notes what is wrong with a trial.
func (w Workload) judge(r *bench.Load, alone, t bench.Trial) {
	for _, side := range []struct {
		name          string
		before, after bench.Latency
	}{{"write", alone.Writes, t.Writes}, {"read", alone.Reads, t.Reads}} {
		most := min(max(maxSlowdown*side.before.P99, milliseconds(slowdownFloor)), milliseconds(maxWait))
		if side.after.P99 > most {
			r.Fault("%s: the p99 of a %s is %.0f ms, more than %.0f ms", t.Attack, side.name, side.after.P99, most)
		}
	}
	if t.Failed > 0 {
		r.Fault("%s: %d operations of the bystander failed: %s", t.Attack, t.Failed, t.Reason)
	}
	if w.MaxMiB > 0 && t.MiB > w.MaxMiB {
		r.Fault("%s: the server took %.0f MiB, more than %.0f", t.Attack, t.MiB, w.MaxMiB)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Paths of the workload, and how much lies there.
const (
	largePath   = "/large" // a node of 14 MB that the attacker may read, not write
	sharedPath  = "/shared"
	attackPath  = "/attack" // the attacker may write here
	largeRows   = 14_000
	sharedRows  = 1000
	largeRow    = 1000
	sharedBytes = 200
)

const isolationRules = `{"rules": {
  "large": {".read": true},
  "shared": {".read": true, ".write": true},
  "attack": {".read": "auth != null", ".write": "auth != null"},
  "texts": {"$text": {".write": "auth != null", ".validate": "newData.isString() && newData.val().matches(/^(([a-z])+.)+[A-Z]([a-z])+$/)"}}
}}`

// fill writes the data that the attacks need.
func (w Workload) fill(ctx context.Context, r *bench.Load) error {
	for path, shape := range map[string][2]int{largePath: {largeRows, largeRow}, sharedPath: {sharedRows, sharedBytes}} {
		pr, pw := io.Pipe()
		go func() { pw.CloseWithError(writeObjects(pw, shape[0], shape[1])) }()
		err := r.Admin.Load(ctx, path, pr)
		pr.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// writeObjects writes an object of n objects.
func writeObjects(w io.Writer, n, size int) error {
	var text []byte
	for i := range n {
		text = append(text[:0], ',')
		if i == 0 {
			text[0] = '{'
		}
		text = append(bench.AppendKey(append(text, '"'), int64(i)), '"', ':')
		if _, err := w.Write(bench.AppendObject(text, int64(i), size)); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "}")
	return err
}

// sharedRow is the key of a row of the bystander.
func sharedRow(seq int64) string {
	return strings.TrimPrefix(sharedPath, "/") + "/" + string(bench.AppendKey(nil, seq%sharedRows))
}
