package servers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/config"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/memory"
	"github.com/dogwooddb/dogwood/internal/processors"
	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/server/space"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// Serve runs a server on data that is kept on disk.
type Serve struct {
	config.Flags
	listenFlags
	datadir.Flag
	Namespace []string `help:"Databases to create if they do not exist." default:"default" placeholder:"NAME"`
	tlsFlags
	authFlags
	backupFlags
	opsFlags
	limitFlags
	MinFree      space.Amount  `help:"Room to keep on the disks of the data and of the log, such as 512MiB or 5%. With less, writes stop until there is more; deletes, rules and reads go on. auto: 256MiB, 2% of a small disk; 0: nothing." default:"auto" placeholder:"BYTES|PERCENT"`
	LogKeepMiB   int64         `name:"log-keep-mib" help:"MiB of the log that stay for readers after they are in the files; 0: none." default:"64" placeholder:"MIB"`
	LogKeepAge   time.Duration `help:"For how long at most." default:"24h" placeholder:"TIME"`
	LogHoldMiB   int64         `name:"log-hold-mib" help:"MiB of the log that stay for readers that have not got there yet." default:"1024" placeholder:"MIB"`
	DrainTimeout time.Duration `help:"How long requests under way may take to finish after SIGTERM or SIGINT. Then they are cut off, and 2s later the server has ended." default:"10s" placeholder:"TIME"`
	IdleAfter    time.Duration `help:"Close a database that nothing has used for so long, until it is used again; 0 for never." default:"10m" placeholder:"TIME"`
}

func (Serve) Help() string {
	return `Listens on loopback unless --host says otherwise. Without rules everything is
denied except to the admin secret, which is created in DIR/admin-secret and
readable only by the user of the server. Users sign in with ID tokens (--jwks) or with
tokens that a secret or a service account signed.

SIGINT and SIGTERM end the server when the requests under way are done, or 2s after
--drain-timeout; then the requests that were cut off are in the log, and the exit code
is 1. A second signal ends it at once, with exit code 130 (SIGINT) or 143 (SIGTERM).
SIGHUP reads the files of --rules, --tls-cert, --tls-key, --secret-file, --jwks and the
admin secret again; a file with a mistake is logged, and its old content stays in use.

Examples:

  dogwood serve --data /var/lib/dogwood --rules database.rules.json
  dogwood serve --config /etc/dogwood/dogwood.json
  dogwood serve --host 0.0.0.0 --port 443 --acme-host db.example.org
  dogwood serve --host 0.0.0.0 --namespace shop,shop-test
  dogwood serve --backup-dir /mnt/backups --backup-every 24h --backup-keep 7
  dogwood serve --jwks https://id.example.org/keys --issuer https://id.example.org --audience shop
  dogwood get / --secret-file dogwood-data/admin-secret
  printf 'Authorization: Bearer %s' "$(cat dogwood-data/admin-secret)" | curl -H @- localhost:9000/.json`
}

func (c *Serve) Run(e *console.Env) error {
	defer c.catchHangups()()
	log := c.logger(e)
	o, err := c.options(log)
	if err != nil {
		return err
	}
	if err := c.prepareBeside(log); err != nil {
		return err
	}
	defer c.leaveBackups()
	defer memory.Keep()()
	defer processors.AddSpare()()
	life := &lifetime{log: log}
	defer c.stopProving()
	err = c.run(e, o, func(base string) error {
		if u, err := url.Parse(base); c.certs != nil && err == nil {
			if err := c.prove(u.Port(), log); err != nil {
				return err
			}
		}
		life.start(e.Ctx, c, base, o.Limits)
		c.greet(e, base)
		return nil
	})
	life.end(e.Ctx, err)
	return err
}

// prepareBeside says what runs while the server does: backups, and getting certificates.
func (c *Serve) prepareBeside(log *slog.Logger) error {
	backups, err := c.schedule(c.Data, log)
	if err != nil {
		return err
	}
	c.warnEmpty(log)
	c.beside = func(ctx context.Context, s *server.Server) {
		var all sync.WaitGroup
		all.Go(func() { c.obtain(ctx) })
		if backups != nil {
			all.Go(func() { backups(ctx, s) })
		}
		all.Wait()
	}
	return nil
}

// options reads the files that the flags name and returns what they say about the server.
func (c *Serve) options(log *slog.Logger) (o server.Options, err error) {
	if c.DrainTimeout <= 0 {
		return o, fmt.Errorf("--drain-timeout %s: must be positive", c.DrainTimeout)
	}
	if c.IdleAfter < 0 {
		return o, fmt.Errorf("--idle-after %s: must not be negative", c.IdleAfter)
	}
	if o.Rules, err = c.ruleset(); err != nil {
		return o, err
	}
	secret, err := c.adminSecret(log)
	if err != nil {
		return o, err
	}
	c.warnUnserved(log)
	if o.Auth, err = c.credentials(log); err != nil {
		return o, err
	}
	if c.tls, err = c.tlsConfig(c.Data, log); err != nil {
		return o, err
	}
	o.TLS = c.tls
	if c.certificate != nil {
		o.Certificates = c.certificate.expiry
	}
	if c.certs != nil {
		o.Certificates = c.certs.Expiry
		c.warnUnreachable(c.Host, c.Port, log)
	}
	if o.Limits, err = c.limits(); err != nil {
		return o, err
	}
	if file := datadir.SecretFile(c.Data); othersCanRead(file) {
		log.Warn("other users can read the admin secret", "file", file)
	}
	if c.DefaultNamespace == "" && len(c.Namespace) == 1 {
		c.DefaultNamespace = c.Namespace[0]
	}
	c.reload, c.ops = c.reloadAll, c.opsFlags
	o.KeepLogAge, o.HoldLogBytes = c.LogKeepAge, c.LogHoldMiB<<20
	if o.KeepLogBytes = c.LogKeepMiB << 20; c.LogKeepMiB <= 0 {
		o.KeepLogBytes = -1
	}
	o.MinFree = c.MinFree
	o.Dir, o.DefaultNamespace, o.Namespaces = c.Data, c.DefaultNamespace, c.Namespace
	o.AdminSecrets, o.Log, o.Limits.DrainTimeout = []string{secret}, log, c.DrainTimeout
	if o.Limits.IdleAfter = c.IdleAfter; c.IdleAfter == 0 {
		o.Limits.IdleAfter = -1
	}
	return o, nil
}

// greet prints all lines at once, so that a program that waits for the first line can read
// the others, too.
func (c *Serve) greet(e *console.Env, base string) {
	rules := "locked, until you set some"
	if c.Rules != "" {
		rules = c.Rules
	}
	var text strings.Builder
	fmt.Fprintf(&text, `Listening on %s

  databases      %s
  data           %s
  rules          %s   (of databases that were given none)%s
  admin secret   %s
`, base, console.List(c.databases, maxNamesLogged, ", "), c.Data, rules, c.ownRules(), c.shownSecret())
	for _, name := range c.ACMEHost {
		fmt.Fprintf(&text, "  certificate    of %s for %s\n", c.authority(), name)
	}
	fmt.Fprint(&text, c.operations.line("  operations     http://%s   (metrics, health, pprof)\n"))
	c.authFlags.greet(&text)
	c.greetDatabases(&text)
	if !client.IsLoopback(c.Host) && c.tls == nil {
		fmt.Fprintf(&text, "\nThis is plain HTTP: put a proxy in front of it that speaks TLS.\n")
	}
	which := ""
	if c.DefaultNamespace == "" {
		which = " --namespace " + c.Namespace[0]
	}
	if c.hasSecret() {
		fmt.Fprintf(&text, "\nTry it:\n\n  dogwood get / --url %s --secret-file %s%s\n\n", reachable(base), datadir.SecretFile(c.Data), which)
	}
	fmt.Fprint(e.Stdout, text.String())
}

// shownSecret is the file of the admin secret as the greeting shows it.
func (c *Serve) shownSecret() string {
	file := datadir.SecretFile(c.Data)
	if !c.hasSecret() {
		return file + "   (missing: see the log)"
	}
	return file
}

// hasSecret reports whether there is a file of the admin secret.
func (c *Serve) hasSecret() bool {
	_, err := os.Stat(datadir.SecretFile(c.Data))
	return err == nil
}

// adminSecret is adminSecret of the data directory. A server starts without a secret for
// which the disk has no room, so that it serves what it has.
func (c *Serve) adminSecret(log *slog.Logger) (string, error) {
	secret, err := datadir.AdminSecret(c.Data)
	missing := (*datadir.NoSecretError)(nil)
	switch {
	case errors.As(err, &missing) && errors.Is(err, syscall.EROFS) && c.isEmpty():
		return "", fmt.Errorf("--data %s: the file system is read-only, and there is no database to serve", c.Data)
	case errors.As(err, &missing) && durable.NoRoom(err):
		log.Error(durable.NoRoomFor("admin secret", err)+". Mend that and send SIGHUP", "file", datadir.SecretFile(c.Data), "err", err)
		return "", nil
	case err != nil:
		return "", datadir.ExplainFlag(c.Data, err)
	}
	return secret, nil
}

// othersCanRead reports whether a file has permissions for others than its
// owner. Windows keeps them elsewhere.
func othersCanRead(file string) bool {
	info, err := os.Stat(file)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}
