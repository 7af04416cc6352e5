package isolation

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/tree"
)

// A bystander that waits too long, or fails, and too much memory are faults.
func TestIsolationJudges(t *testing.T) {
	alone := bench.Trial{Writes: bench.Latency{P99: 4}, Reads: bench.Latency{P99: 100}}
	for _, c := range []struct {
		name  string
		trial bench.Trial
		fault string
	}{
		{"as before", bench.Trial{Writes: bench.Latency{P99: 4}, Reads: bench.Latency{P99: 100}}, ""},
		{"slower, but not too slow", bench.Trial{Writes: bench.Latency{P99: 40}, Reads: bench.Latency{P99: 499}}, ""},
		{"ten times slower", bench.Trial{Writes: bench.Latency{P99: 41}}, "x: the p99 of a write is 41 ms, more than 40 ms"},
		{"half a second", bench.Trial{Reads: bench.Latency{P99: 501}}, "x: the p99 of a read is 501 ms, more than 500 ms"},
		{"failures", bench.Trial{Failed: 2, Reason: "read: status 503"}, "x: 2 operations of the bystander failed: read: status 503"},
		{"memory", bench.Trial{MiB: 513}, "x: the server took 513 MiB, more than 512"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := bench.NewLoad(bench.Options{})
			c.trial.Attack = "x"
			Workload{MaxMiB: 512}.judge(r, alone, c.trial)
			if got := strings.Join(r.Faults(), "; "); got != c.fault {
				t.Errorf("got %q, want %q", got, c.fault)
			}
		})
	}
}

func TestIsolationChecksAttacks(t *testing.T) {
	_, err := Workload{Only: []string{"windows", "nothing"}}.WithDefaults()
	if err == nil || !strings.Contains(err.Error(), `no attack "nothing"; there are hash-guesses, `) {
		t.Errorf("got %v", err)
	}
	if list, err := (Workload{}).attacks(); err != nil || len(list) != len(attacks) {
		t.Errorf("%d of %d attacks, %v", len(list), len(attacks), err)
	}
}

// Bodies of attacks are such as a server takes: it would refuse longer ones at once.
func TestAttackBodies(t *testing.T) {
	for name, body := range map[string]func() string{"tiny values": tinyValues, "long keys": longKeys, "long text": longText, "refused paths": widePaths(20*mostPaths, "1")} {
		if n := len(body()); n < 1<<20 || n > 16<<20 {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

// A batch of an attack is read to its end, in which its mistake is. It may be as long as that.
func TestFatBatch(t *testing.T) {
	z, err := gzip.NewReader(strings.NewReader(fatBatch()))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	var batch struct {
		Get []map[string]string `json:"get"`
	}
	if err := errors.Join(err, json.Unmarshal(text, &batch)); err != nil {
		t.Fatal(err)
	}
	if n := len(batch.Get); n != 1000 || len(batch.Get[n-1]) != 0 || len(text) > 1<<20 || len(fatBatch()) > len(text)/100 {
		t.Errorf("%d entries, %d bytes in %d", n, len(text), len(fatBatch()))
	}
	for _, entry := range batch.Get[:999] {
		if _, err := tree.ParsePath(entry["path"]); err != nil {
			t.Fatal(err)
		}
	}
}

// A server with usual bounds would read all of these, so they are refused for what they take.
func TestFatHeaders(t *testing.T) {
	for _, headers := range fatHeaders() {
		if n := len(headers); n < 160<<10 || n > 190<<10 {
			t.Errorf("headers of %d bytes", n)
		}
	}
	if n := pollPieces * pollPieceSize; n > 16<<20/3*4 {
		t.Errorf("pieces of %d bytes together", n)
	}
}
