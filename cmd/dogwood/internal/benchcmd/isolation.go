package benchcmd

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/isolation"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

type isolationCommand struct {
	Attack   []string      `help:"Attacks to run, all if not given." placeholder:"NAME" env:"-"`
	Attacker string        `help:"Address that attacks come from. On Linux all of 127.0.0.0/8 are this machine." default:"127.0.0.2" env:"-"`
	Each     time.Duration `help:"How long each attack is measured." default:"5s" env:"-"`
	Load     float64       `help:"Writes, and as many reads, of the bystander per second." default:"50" env:"-"`
	Memory   string        `help:"Memory limit of the spawned server, in the form of GOMEMLIMIT: 512MiB. More resident memory, without the mapped file, is a failure." env:"-" placeholder:"SIZE"`
}

func (isolationCommand) Help() string {
	return `A bystander writes and reads small values, first alone and then beside one
attack after the other. Attacks come from another address and another process, and
send what a user without administrator rights can send. The attack readers comes from the
attackers' address and the two after it. The bystander's p99 must stay below ten
times that without an attack and below 500 ms.

The attacks are ` + strings.Join(isolation.Names(), ", ") + `.

Examples:

  dogwood bench isolation --spawn serve
  dogwood bench isolation --spawn serve --memory 512MiB --attack large-puts`
}

func (c *isolationCommand) Run(e *console.Env, b *Command) error {
	if b.Duration == 0 && b.Count == 0 {
		b.Duration = c.Each // of each trial; the run ends with the last one
	}
	w := isolation.Workload{Attacker: c.Attacker, Only: c.Attack, Each: c.Each, Rate: c.Load}
	if c.Memory != "" {
		bytes, err := parseMemory(c.Memory)
		if err != nil {
			return err
		}
		w.MaxMiB = float64(bytes) / (1 << 20)
		b.spawning.env = []string{"GOMEMLIMIT=" + c.Memory}
	}
	b.spawning.args = []string{"--exempt", "none"}
	return b.measure(e, w)
}

// attackersCommand is the process that attacks come from. Its standard input
// says which attack to carry out. It ends with its input, so it does not outlive the bench.
type attackersCommand struct{}

func (attackersCommand) Run(e *console.Env) error {
	return isolation.Attack(e.Ctx, e.Stdin, e.Stdout)
}

// newAttackers returns that process.
func newAttackers() *exec.Cmd {
	self, err := os.Executable()
	return &exec.Cmd{
		Path: self, Err: err,
		Args:        []string{"dogwood", "bench", "attackers"},
		Env:         withoutSettings(os.Environ()),
		SysProcAttr: ownGroup(), // Ctrl-C is for the bench, which then ends the attackers
	}
}

// parseMemory reads a size such as 512MiB or 4GiB.
func parseMemory(text string) (bytes int64, err error) {
	var n int64
	var unit string
	if _, err := fmt.Sscanf(text, "%d%s", &n, &unit); err == nil && n > 0 {
		switch unit {
		case "MiB":
			return n << 20, nil
		case "GiB":
			return n << 30, nil
		}
	}
	return 0, fmt.Errorf("--memory %s: not a size such as 512MiB or 4GiB", text)
}

// printTrials prints a table of attacks for each run.
func printTrials(w io.Writer, head string, runs []bench.Result) error {
	var b strings.Builder
	b.WriteString(head)
	for _, r := range runs {
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "attack\twrites p50 ms\tp99\tmax\treads p50 ms\tp99\tmax\tfailed\tattacks\trefused\tMiB\t")
		for _, trial := range r.Trials {
			fmt.Fprintf(t, "%s\t", trial.Attack)
			for _, l := range []bench.Latency{trial.Writes, trial.Reads} {
				fmt.Fprintf(t, "%s\t%s\t%s\t", figure(l.P50), figure(l.P99), figure(l.Max))
			}
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t\n", trial.Failed, figure(float64(trial.Sent)), figure(float64(trial.Refused)), known(trial.MiB))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
