// Package benchcmd has the commands of dogwood bench: flags, the servers that it starts, and
// how results are printed. Package bench has the workloads and measures them.
package benchcmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// Command has the settings that all workloads share.
type Command struct {
	Set      load[bench.Set]      `cmd:"" help:"Durable writes of small objects over realtime connections."`
	Chat     chatCommand          `cmd:"" help:"Rooms whose members follow the last messages and take turns to post."`
	ChatRoom load[bench.ChatRoom] `cmd:"" name:"chat-room" help:"One large room of the data model chat, under its rules. A member that misses a message, or sees one in another order, is a failure."`
	Social   load[bench.Social]   `cmd:"" help:"Posts to the homes of many followers in the data model social, under its rules."`
	Fanout   load[bench.Fanout]   `cmd:"" help:"One writer, many subscribers."`
	Idle     load[bench.Idle]     `cmd:"" help:"Connections that follow a path and do nothing, and the memory that they take."`
	Shallow  load[bench.Shallow]  `cmd:"" help:"Lists of keys of a wide node, over REST."`
	Query    queryCommand         `cmd:"" help:"Ranges of an index, over a realtime connection and REST."`
	RestGet  load[bench.RESTGet]  `cmd:"" name:"rest-get" help:"GET requests over keep-alive connections."`
	RestPut  load[bench.RESTPut]  `cmd:"" name:"rest-put" help:"Durable PUT requests over keep-alive connections."`
	Import   importLoad           `cmd:"" help:"Import of a large file, the memory it takes, a start of the server on the data, and reads and writes all over them."`
	Delete   load[bench.Delete]   `cmd:"" help:"Deletes of many rows at once, until a reader sees it."`
	Soak     soakCommand          `cmd:"" help:"Mixed load for a long time, with clients that come and go. Missed events, lost writes and growing memory are failures."`

	Isolation isolationCommand `cmd:"" help:"A client that writes and reads beside attacks from another address. Latencies above the bound are failures."`

	BareServer bareServerCommand `cmd:"" name:"bare-server" hidden:"" help:"Run the server of --spawn bare."`
	Attackers  attackersCommand  `cmd:"" hidden:"" help:"Carry out an attack of isolation, until standard input ends."`

	URL        string `group:"Server" help:"Address of the server to load." default:"http://127.0.0.1:9000" aliases:"server"`
	Namespace  string `group:"Server" help:"Database to load, which must be empty. Without it a new one is named, which development servers make." aliases:"ns,instance" placeholder:"NAME"`
	Profile    string `group:"Server" help:"Profile that dogwood login made: its address, its database and its secret." env:"-" placeholder:"NAME"`
	SecretFile string `group:"Server" help:"File that holds the admin secret. Without it, the environment variable DOGWOOD_SECRET is used." type:"path" placeholder:"FILE"`
	Owner      bool   `group:"Server" help:"Act as the owner of a development server."`
	Pid        int    `group:"Server" help:"Process id of the server if it runs here, to report its memory and processor time." env:"-" placeholder:"PID"`
	Spawn      string `group:"Server" help:"Start a server for each run: serve or dev, with data in a new directory on disk, or bare, which keeps nothing and shows what the machine allows." enum:",serve,dev,bare" default:"" placeholder:"serve|dev|bare" env:"-"`
	SpawnDir   string `group:"Server" help:"Where to create that directory; the system's temporary directory if it is not given." type:"path" placeholder:"DIR" env:"-"`
	Force      bool   `group:"Server" aliases:"yes" help:"Load a database that is not empty; --yes is another name. Its data may be overwritten and its rules are replaced." env:"-"`
	Keep       bool   `group:"Server" help:"Leave the data in the database." env:"-"`

	Duration time.Duration  `group:"Load" help:"How long to measure; 10s if there is no --count either." env:"-"`
	Count    int64          `group:"Load" help:"How many operations to measure." env:"-"`
	WarmUp   *time.Duration `group:"Load" help:"Load before the measured part; 1s, or none with --count." env:"-"`
	Rate     float64        `group:"Load" help:"Operations per second that are due, however slow the answers are; latencies count from when they were due. Without it the next operation waits for an answer." env:"-"`
	Repeat   int            `group:"Load" help:"How many runs to make; the medians of their figures are printed." default:"1" env:"-"`

	CompareBare bool `group:"Load" help:"Measure a bare server, which keeps nothing, and the server in turn, three times unless --repeat says otherwise, and print the ratio: for set, chat, fanout, rest-get and rest-put." env:"-"`

	CompareRedis bool   `group:"Load" help:"Measure Redis, which syncs each write to a file on the same disk (appendfsync always), and the server in turn, likewise: for set. Needs redis-server, of the Debian package of that name." env:"-"`
	Against      string `group:"Load" help:"Measure servers of another build of dogwood and of this one in turn, likewise; --spawn says which command. This program is the load generator of both." type:"path" placeholder:"BINARY" env:"-"`

	JSON     bool     `group:"Output" name:"json" help:"Print JSON." env:"-"`
	spawning spawning `kong:"-"` // what a workload adds to --spawn

	given map[string]bool // names of the flags on the command line

	CPUProfile string `group:"Output" name:"cpu-profile" help:"Write a processor profile of the load generator to a file." type:"path" env:"-" placeholder:"FILE"`
}

func (Command) Help() string {
	return `Loads a server and reports rates and latencies. Any server that speaks the
protocol can be loaded, but give it a database of its own: the bench sets rules,
writes, and deletes what it wrote. With --spawn one command does everything.

Rates depend on the machine. --spawn bare starts a server that keeps nothing, and
--compare-bare prints which share of its rate the server reaches. --compare-redis
compares durable writes with those of Redis, and --against two builds of dogwood.

Ctrl-C ends a run early and prints the figures so far. Processor time of both sides
is printed where the system gives it: if the generator needs a whole core, it may
limit the figures.

Examples:

  dogwood bench set --spawn serve --repeat 5
  dogwood bench chat --rules chat --spawn serve
  dogwood bench chat --compare-rules --spawn serve --repeat 5
  dogwood bench chat-room --members 1000 --posters 20 --spawn serve
  dogwood bench social --followers 10000 --spawn serve
  dogwood bench set --compare-bare --spawn serve --repeat 5
  dogwood bench set --compare-redis --spawn serve --repeat 5
  dogwood bench chat --against ./dogwood-before --spawn serve --repeat 5
  dogwood bench import --rows 1000000 --spawn serve
  dogwood bench soak --spawn serve --duration 30m
  dogwood bench isolation --spawn serve --memory 512MiB
  dogwood bench set --rate 2000 --connections 4 --duration 30s --owner
  dogwood bench idle --connections 10000 --url http://127.0.0.1:9000 --pid 4711
  dogwood bench rest-get --json --url https://example.org --ns bench --secret-file secret`
}

// options returns what the flags say about the load.
func (c *Command) options() bench.Options {
	o := bench.Options{
		Duration: c.Duration, Count: c.Count, Rate: c.Rate,
		Force: c.Force, Keep: c.Keep,
		Attackers: newAttackers,
	}
	if o.Count == 0 && o.Duration == 0 {
		o.Duration = 10 * time.Second
	}
	switch {
	case c.WarmUp != nil:
		o.Warmup = *c.WarmUp
	case o.Count == 0:
		o.Warmup = time.Second
	}
	return o
}

// maxRepeat bounds the runs of one command.
const maxRepeat = 1000

// A measured is what one command has measured. It is also the JSON output, so
// its names are an interface for scripts.
type measured struct {
	Machine  bench.Machine  `json:"machine"`
	Workload string         `json:"workload"`
	Runs     []bench.Result `json:"runs"`
	Median   bench.Result   `json:"median"`
	Ratio    *float64       `json:"ratio,omitempty"`     // of the rate to the one of what it is compared with
	P50      *float64       `json:"p50Ratio,omitempty"`  // of the median latency, likewise
	Time     *float64       `json:"timeRatio,omitempty"` // of the server's processor time for each operation, likewise
	Against  []bench.Result `json:"against,omitempty"`
	Other    *bench.Result  `json:"againstMedian,omitempty"`
	describe string
	compared comparison
}

// measure runs a workload as often as asked for.
func (c *Command) measure(e *console.Env, w bench.Workload) error {
	if err := c.checkCompared(w); err != nil {
		return err
	}
	if c.comparesServers() {
		return c.measureCompared(e, w)
	}
	return c.measureAll(e, []subject{{workload: w, spawn: c.Spawn}}, comparison{})
}

// measureAll runs subjects in turn, as often as asked for. The first one is what
// is reported, a second one is what it is compared with.
func (c *Command) measureAll(e *console.Env, subjects []subject, compared comparison) error {
	if c.Repeat < 1 || c.Repeat > maxRepeat {
		return fmt.Errorf("--repeat must be between 1 and %d", maxRepeat)
	}
	stop, err := c.profile()
	if err != nil {
		return err
	}
	runs, err := c.runAll(e, subjects, compared.first)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	report, err := c.report(runs)
	if err != nil {
		return err
	}
	report.compared = compared
	if err := c.print(e, report); err != nil {
		return err
	}
	return verdict(e.Ctx, runs)
}

// runAll returns the results of each subject. The last one goes first if lastFirst. An
// interrupted run is the last of its subject. They run in turn, so that a machine which gets
// slower meanwhile slows both.
func (c *Command) runAll(e *console.Env, subjects []subject, lastFirst bool) (runs [][]bench.Result, err error) {
	order := make([]int, len(subjects))
	for i := range order {
		order[i] = i
	}
	if lastFirst {
		slices.Reverse(order)
	}
	runs = make([][]bench.Result, len(subjects))
	for n := range c.Repeat {
		for _, i := range order {
			res, err := c.run(e, subjects[i], n+1)
			switch {
			case err != nil && e.Ctx.Err() == nil:
				return nil, err
			case err == nil:
				runs[i] = append(runs[i], res)
			}
			switch { // a run that was interrupted before it began is none
			case e.Ctx.Err() != nil && len(runs[0]) == 0:
				return nil, console.ErrInterrupted
			case e.Ctx.Err() != nil:
				return runs, nil
			}
		}
	}
	return runs, nil
}

// run measures once, on a new server or a new database if that is up to us.
func (c *Command) run(e *console.Env, s subject, n int) (res bench.Result, err error) {
	o := c.options()
	p := newProgress(e, s.workload.Name(), n, c.Repeat, o)
	defer p.line.Clear()
	o.Progress = p.show
	if !c.JSON {
		o.Interval = (&intervalPrinter{w: e.Stdout, progress: p}).print
	}
	if s.spawn == "" {
		if o.Target, err = c.target(); err != nil {
			return bench.Result{}, err
		}
		res, err = bench.Run(e.Ctx, s.workload, o)
		return res, c.explainTarget(o.Target, err)
	}
	with := c.spawning
	with.binary = s.binary
	server, err := spawn(e.Ctx, s.spawn, c.SpawnDir, with)
	if err != nil {
		return bench.Result{}, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	o.Target, o.Server, o.Keep = server.target, server, true // the data go with the directory
	return bench.Run(e.Ctx, s.workload, o)
}

// explainTarget says what to do where the server to load cannot be reached.
func (c *Command) explainTarget(t bench.Target, err error) error {
	u, bad := url.Parse(t.URL)
	switch {
	case bad != nil:
		return err
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no server at %s; have the bench start one with --spawn serve, or start \"dogwood dev\", or name another with --url", t.URL)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s: %s", t.URL, client.PlainServer(u))
	}
	return err
}

// AfterApply is called by kong.
func (c *Command) AfterApply(k *kong.Context) error {
	c.given = client.OnCommandLine(k)
	return nil
}

// target is the server that the flags name.
func (c *Command) target() (bench.Target, error) {
	f := client.Flags{URL: c.URL, Namespace: c.Namespace, SecretFile: c.SecretFile, Owner: c.Owner, Profile: c.Profile}.Given(c.given)
	db, err := f.Client()
	if err != nil {
		return bench.Target{}, err
	}
	t := bench.Target{URL: db.Server(), Namespace: db.Namespace, Secret: db.Secret, PID: c.Pid}
	if t.Namespace == "" {
		t.Namespace = fmt.Sprintf("bench-%x", time.Now().UnixNano())
	}
	return t, nil
}

// profile begins to profile this process, if that was asked for.
func (c *Command) profile() (stop func() error, err error) {
	if c.CPUProfile == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(c.CPUProfile)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

func (c *Command) report(runs [][]bench.Result) (measured, error) {
	dir := ""
	if c.Spawn != "" && c.Spawn != spawnBare {
		if dir = c.SpawnDir; dir == "" {
			dir = os.TempDir()
		}
	}
	machine, err := bench.ThisMachine(dir)
	if err != nil {
		return measured{}, fmt.Errorf("measure syncs: %w", err)
	}
	m := bench.Median(runs[0])
	r := measured{Machine: machine, Workload: m.Workload, Runs: runs[0], Median: m, describe: m.Settings.Describe()}
	if len(runs) == 2 && len(runs[1]) > 0 {
		other := bench.Median(runs[1])
		rate := ratioOf(runs[0], runs[1], func(r bench.Result) float64 { return r.PerSecond })
		p50 := ratioOf(runs[0], runs[1], func(r bench.Result) float64 { return r.Latency.P50 })
		time := ratioOf(runs[0], runs[1], func(r bench.Result) float64 { return r.ServerMicros })
		r.Against, r.Other, r.Ratio, r.P50, r.Time = runs[1], &other, &rate, &p50, &time
	}
	return r, nil
}

// ratioOf returns the median of the ratios of a figure in runs that were made
// one after the other, which have seen the same machine.
func ratioOf(a, b []bench.Result, figure func(bench.Result) float64) float64 {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		if figure(b[i]) > 0 {
			ratios = append(ratios, figure(a[i])/figure(b[i]))
		}
	}
	return bench.MedianOf(ratios)
}

func (c *Command) print(e *console.Env, r measured) error {
	if !c.JSON {
		return printReport(e.Stdout, r)
	}
	return console.PrintJSON(e.Stdout, r)
}

// verdict is an error if what was printed is not what was asked for.
func verdict(ctx context.Context, runs [][]bench.Result) error {
	if ctx.Err() != nil {
		return console.ErrInterrupted
	}
	for _, results := range runs {
		for _, r := range results {
			if r.Failed > 0 {
				return fmt.Errorf("%d operations failed: %s", r.Failed, r.Reason)
			}
			if len(r.Faults) > 0 {
				return fmt.Errorf("the server failed checks: %s", strings.Join(r.Faults, "\n  "))
			}
		}
	}
	return nil
}
