package servers

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/memory"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/server/observe"
)

// Dev runs a server for development.
type Dev struct {
	listenFlags
	Data          string   `help:"Directory to keep the data in; without it, the data are lost when the server stops." type:"path" env:"DOGWOOD_DEV_DATA" placeholder:"DIR"`
	Sample        string   `help:"Fill new databases with a sample, and demonstrate it at /demo/: chat, im, msgy, org, owner-storage or social." placeholder:"NAME"`
	ExplainDenied bool     `help:"Tell clients why they were denied, and not only this console."`
	Coverage      bool     `help:"Count the results of rules, which /.inspect/coverage shows." default:"true" negatable:""`
	AllowRemote   bool     `help:"Allow a --host that other machines can reach. They can read and write everything."`
	AllowHost     []string `help:"Also answer requests for this name or address, such as 10.0.2.2 for the Android emulator. Other names than those of this machine are refused." placeholder:"NAME"`
	AllowOrigin   []string `help:"Also answer pages of this origin, such as https://app.example.org. Pages of other sites are refused, unless this machine serves them." placeholder:"ORIGIN"`
	Exec          string   `help:"Run this command line of the shell with the server, and stop when it ends, with its exit code." env:"-" placeholder:"CMD"`
	documentFlags
	savedFlags
	opsFlags
	emulatorFlags
}

// emulatorFlags are what firebase-tools passes to the emulator that it has
// downloaded. They mean nothing here.
type emulatorFlags struct {
	SingleProjectMode     string `name:"single_project_mode" hidden:"" env:"-"`
	FunctionsEmulatorPort string `name:"functions_emulator_port" hidden:"" env:"-"`
	FunctionsEmulatorHost string `name:"functions_emulator_host" hidden:"" env:"-"`
}

func (Dev) Help() string {
	return `Databases are created when they are first used, rules are open unless given,
and "owner" and unsigned tokens are accepted, as with the official emulator.

Without --rules, a firebase.json or database.rules.json of the working directory
is used. Rules files are read again when they change. Operations that rules deny
are explained here. Without --data-document, the data document that the firebase.json
names is used, or database.data.json of the working directory, and also read again. Without --host and --port, those of "emulators": {"database": …}
of the firebase.json are used.

Pages of other sites, and files, can read only what the rules allow without signing in,
unless --allow-origin names them. This does not concern pages that this machine serves,
such as http://localhost:5173, and programs other than browsers.

With --exec, the command finds the server in FIREBASE_DATABASE_EMULATOR_HOST, which the
official SDKs read, and DOGWOOD_URL, which dogwood reads. Signals are passed on to it.

--export-on-exit writes when all clients are gone and their onDisconnect operations are
carried out, also after SIGINT and SIGTERM. Requests and queued writes have 10 seconds for
that; then they are refused, and the export does not have them. It replaces an earlier
export in one step. A second signal ends the server without it.

The page at / says what the server is and leads to the documentation. With --sample,
every database begins with the sample, whatever its name, and the page at /demo/ shows
what the sample is about. It uses a database of the sample's name, which has the rules
of the sample unless --rules is given, and which is the default one unless
--default-namespace is given. The rules do not apply to requests with the token "owner".

Examples:

  dogwood dev --sample chat
  dogwood dev --rules database.rules.json
  dogwood dev --port 0 --data ./data
  dogwood dev --import ./saved-data --export-on-exit
  dogwood dev --import data.json --exec "npm test"`
}

func (c *Dev) Run(e *console.Env) error {
	if err := c.validate(); err != nil {
		return err
	}
	tree, err := sample(c.Sample)
	if err != nil {
		return err
	}
	if c.Rules == "" {
		c.Rules = project.FindRules()
		c.found = c.Rules != ""
	}
	c.watch = true
	ruleset, err := c.ruleset()
	if err != nil {
		return err
	}
	if c.ops = c.opsFlags; c.ops.OpsAddr == "" {
		c.ops.OpsAddr = opsOff
	}
	if c.DefaultNamespace == "" {
		c.DefaultNamespace = cmp.Or(c.Sample, c.firstNamed(), openNamespace)
	}
	if err := c.check(c.Data, c.DefaultNamespace); err != nil {
		return err
	}
	c.fill = func(s *server.Server) error { return c.load(e, s, c.DefaultNamespace) }
	o := server.Options{
		Dev:              true,
		Drained:          func(s *server.Server) error { return c.save(e, s, c.DefaultNamespace) },
		AllowHosts:       append([]string{c.Host}, c.AllowHost...),
		AllowOrigins:     c.AllowOrigin,
		Dir:              c.Data,
		DefaultNamespace: c.DefaultNamespace,
		Rules:            ruleset,
		Sample:           tree,
		Decisions:        observe.Decisions{Console: e.Stderr, Tell: c.ExplainDenied, Coverage: c.Coverage},
		Log:              c.logger(e),
		Limits:           server.Limits{Memory: memory.Limit().Bytes},
	}
	if err := c.demonstrate(&o); err != nil {
		return err
	}
	if err := c.loadDocuments(&o, c.Rules, c.found); err != nil {
		return err
	}
	if c.documents != nil {
		c.beside = func(ctx context.Context, s *server.Server) { c.watchDocuments(ctx, s, e.Stderr) }
	}
	if c.Exec != "" {
		return c.runExec(e, o)
	}
	return c.run(e, o, func(base string) error { c.greet(e, base); return nil })
}

// hostText is a name or an IPv4 address, as clients write it into their Host header.
var hostText = regexp.MustCompile(`^[A-Za-z0-9._-]+(:[0-9]+)?$`)

// validate refuses flags that would open the server to others, or that cannot be read.
func (c *Dev) validate() error {
	if !c.AllowRemote && !client.IsLoopback(c.Host) {
		return fmt.Errorf("--host %s: other machines could read and write everything; pass --allow-remote to permit that, or see dogwood serve", c.Host)
	}
	for _, host := range c.AllowHost {
		if !hostText.MatchString(host) && net.ParseIP(strings.Trim(host, "[]")) == nil {
			return fmt.Errorf("--allow-host %s: it takes a name or an address without scheme and path, such as box.lan or 10.0.2.2", host)
		}
	}
	for _, origin := range c.AllowOrigin {
		if _, err := server.ParseOrigin(origin); err != nil {
			return fmt.Errorf("--allow-origin: %w", err)
		}
	}
	return nil
}

// openNamespace is the default database of a server without a sample. With one, it is
// filled with the sample and open.
const openNamespace = "demo"

// greet prints where everything is. The first line is for programs.
func (c *Dev) greet(e *console.Env, base string) {
	first := "Listening on " + base
	if c.Sample != "" {
		first += "   demonstration: " + demoURL(base)
	}
	first += "\n"
	base = reachable(base)
	u, _ := url.Parse(base)
	data, rules := "in memory", "open to all clients"
	if c.Data != "" {
		data = c.Data
	}
	if c.Rules != "" {
		rules = c.Rules
	}
	if c.found {
		rules += "   (of this directory)"
	}
	rules += c.named() + c.ownRules()
	if c.sampleRules != nil {
		rules += fmt.Sprintf("\n             those of the sample in ns=%s, which the demonstration uses", c.Sample)
	}
	others := "a database of its own"
	if c.Sample != "" {
		others = "a database of its own, which begins with the sample"
	}
	operations := c.operations.line("  operations http://%s   (metrics, health, pprof)\n")
	fmt.Fprintf(e.Stdout, `%s
  database   %s?ns=%s   (any other ns is %s)
  data       %s
  rules      %s
%s%s
%s`, first, base, c.DefaultNamespace, others, data, rules, c.documentLine(), operations, c.commands(base, u.Port()))
}

// commands returns what to try. It uses the default database. If that has rules, the commands
// pass the token of the owner. If they are those of the sample, the program, which has no user,
// uses another database.
func (c *Dev) commands(base, port string) string {
	path, ns, flag, header := "/", c.DefaultNamespace, "", ""
	if c.Sample == "chat" {
		path = "/rooms"
	}
	if c.Rules != "" || c.given[ns] > 0 || c.sampleRules[ns] != nil {
		flag, header = " --owner", "-H 'Authorization: Bearer owner' "
	}
	if c.sampleRules[ns] != nil {
		ns = openNamespace
	}
	return fmt.Sprintf(`Try it:

  dogwood get %[1]s --shallow%[2]s --url %[3]s
  curl %[4]s'%[3]s%[1]s.json?shallow=true'

  import { initializeApp } from 'firebase/app'
  import { getDatabase, ref, onValue } from 'firebase/database'
  const app = initializeApp({ databaseURL: 'http://localhost:%[5]s?ns=%[6]s' })
  onValue(ref(getDatabase(app), '%[1]s'), snap => console.log(snap.val()), err => console.error(err.message))

`, path, flag, base, header, port, ns)
}
