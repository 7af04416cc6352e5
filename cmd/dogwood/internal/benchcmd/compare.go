package benchcmd

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/redis"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// A subject is a workload and the server that it loads.
type subject struct {
	workload bench.Workload
	spawn    string // as --spawn, or spawnRedis
	binary   string // that is spawned; "" is this program
}

// A comparison says how one subject is labelled and compared with another. A
// ratio of neighbouring runs says more than two figures: the machine is the
// same for both.
type comparison struct {
	label string // of the lines about the other one
	first bool   // the other one is measured first of each pair
	rate  string // says which percentage of the other's rate there is
	p50   string // says how many times the other's median latency there is
	time  string // says how many times the other's processor time is taken
}

// compareRepeat is how often a comparison is made without --repeat.
const compareRepeat = 3

// compare measures two subjects in turn.
func (c *Command) compare(e *console.Env, s, other subject, how comparison) error {
	if c.Repeat == 1 {
		c.Repeat = compareRepeat
	}
	return c.measureAll(e, []subject{s, other}, how)
}

// Other servers to compare with are those that the same load can be put on.
var (
	bareWorkloads  = []string{"set", "chat", "fanout", "rest-get", "rest-put"}
	redisWorkloads = []string{"set"}
)

// comparesServers reports whether the server is compared with another one.
func (c *Command) comparesServers() bool {
	return c.CompareBare || c.CompareRedis || c.Against != ""
}

// checkCompared returns an error if the flags about other servers make no sense for a
// workload.
func (c *Command) checkCompared(w bench.Workload) error {
	name := w.Name()
	switch {
	case c.CompareBare && (c.CompareRedis || c.Against != "") || c.CompareRedis && c.Against != "":
		return errors.New("--compare-bare, --compare-redis and --against are comparisons with one other server each; give one of them")
	case c.Spawn == spawnBare && c.CompareBare:
		return errors.New("--compare-bare starts the bare server by itself; --spawn says what is compared with it")
	case c.Spawn == spawnBare && c.CompareRedis:
		return errors.New("--compare-redis compares a server that keeps data; a bare one keeps nothing")
	case c.Against != "" && c.Spawn == "":
		return errors.New("--against starts servers of both builds; say which ones with --spawn")
	case c.CompareRedis && !slices.Contains(redisWorkloads, name):
		return fmt.Errorf("--compare-redis: there is no %s for Redis, only set", name)
	case c.CompareBare && !slices.Contains(bareWorkloads, name):
		return fmt.Errorf("--compare-bare: a bare server keeps nothing, which %s needs", name)
	case c.Spawn == spawnBare && !slices.Contains(bareWorkloads, name):
		return fmt.Errorf("--spawn bare: a bare server keeps nothing, which %s needs", name)
	}
	return nil
}

// measureCompared measures the server that the flags name and another one.
func (c *Command) measureCompared(e *console.Env, w bench.Workload) error {
	const p50, time = "its p50 is %.2f times as long", "an operation takes %.2f times its processor time"
	this := subject{workload: w, spawn: c.Spawn}
	switch {
	case c.CompareBare:
		return c.compare(e, this, subject{workload: w, spawn: spawnBare},
			comparison{"bare", true, "the server runs at %.0f %% of the rate of a bare one", p50, time})
	case c.CompareRedis:
		set, ok := w.(bench.Set)
		if !ok {
			return fmt.Errorf("--compare-redis: there is no %s for Redis", w.Name())
		}
		return c.compare(e, this, subject{workload: redis.Set{Set: set}, spawn: spawnRedis},
			comparison{"Redis", true, "the server runs at %.0f %% of the rate of Redis", p50, time})
	}
	return c.compare(e, this, subject{workload: w, spawn: c.Spawn, binary: c.Against},
		comparison{"other", true, "the server runs at %.0f %% of the rate of the other build", p50, time})
}
