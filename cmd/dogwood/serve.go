package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

type serveCommand struct {
	listenFlags
	Data      string   `help:"Directory that holds the data, ./dogwood-data if it is not given." default:"./dogwood-data" type:"path" placeholder:"DIR"`
	Namespace []string `help:"Databases to create if they do not exist." default:"default" placeholder:"NAME"`
	tlsFlags
	authFlags
	backupFlags
	opsFlags
	limitFlags
	DrainTimeout time.Duration `help:"After SIGTERM or SIGINT, how long requests that are under way may finish. Then they are cut, and 2s later the server has ended." default:"10s" placeholder:"TIME"`
}

func (serveCommand) Help() string {
	return `Listens on loopback unless --host says otherwise. Without rules everything is
denied except to the admin secret, which is created in DIR/admin-secret and
readable only by the user who runs the server. Users come with ID tokens (--jwks)
or with tokens that a secret or a service account signed.

SIGINT and SIGTERM end the server when the requests that are under way are done, or
2s after --drain-timeout; what was cut is in the log, and the exit code is 1. A second
signal ends it at once, with exit code 130 (SIGINT) or 143 (SIGTERM). SIGHUP reads the
files of --rules, --tls-cert, --tls-key, --secret-file, --jwks and the admin secret again;
a file with a mistake is logged and leaves what it was before in use.

Examples:

  dogwood serve --data /var/lib/dogwood --rules database.rules.json
  dogwood serve --host 0.0.0.0 --namespace shop,shop-test
  dogwood serve --backup-dir /mnt/backups --backup-every 24h --backup-keep 7
  dogwood serve --jwks https://id.example.org/keys --issuer https://id.example.org --audience shop
  dogwood get / --secret-file dogwood-data/admin-secret
  printf 'Authorization: Bearer %s' "$(cat dogwood-data/admin-secret)" | curl -H @- localhost:9000/.json`
}

func (c *serveCommand) Run(e *env) error {
	defer c.catchHangups()()
	if c.DrainTimeout <= 0 {
		return fmt.Errorf("--drain-timeout %s: must be positive", c.DrainTimeout)
	}
	ruleset, err := c.ruleset()
	if err != nil {
		return err
	}
	log := c.logger(e)
	secret, err := c.adminSecret(log)
	if err != nil {
		return err
	}
	c.warnUnserved(log)
	credentials, err := c.options(log)
	if err != nil {
		return err
	}
	if c.tls, err = c.config(); err != nil {
		return err
	}
	limits, err := c.limits()
	if err != nil {
		return err
	}
	limits.DrainTimeout = c.DrainTimeout
	c.reload = c.reloadAll
	if file := secretFile(c.Data); othersCanRead(file) {
		log.Warn("others can read the admin secret", "file", file)
	}
	if c.beside, err = c.schedule(e, log); err != nil {
		return err
	}
	c.ops = c.opsFlags
	if c.DefaultNamespace == "" && len(c.Namespace) == 1 {
		c.DefaultNamespace = c.Namespace[0]
	}
	defer keepMemory()()
	life := &lifetime{log: log}
	err = c.run(e, server.Options{
		Dir:              c.Data,
		DefaultNamespace: c.DefaultNamespace,
		Namespaces:       c.Namespace,
		AdminSecrets:     []string{secret},
		Auth:             credentials,
		Rules:            ruleset,
		Limits:           limits,
		Log:              log,
	}, func(base string) {
		life.start(e.ctx, c, base, limits)
		c.greet(e, base)
	})
	life.end(e.ctx, err)
	return err
}

// greet prints where everything is, at once, so that who waits for the first line,
// which is for programs, has the others as well.
func (c *serveCommand) greet(e *env, base string) {
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
`, base, strings.Join(c.Namespace, ", "), c.Data, rules, c.ownRules(), c.shownSecret())
	fmt.Fprint(&text, c.operations.line("  operations     http://%s   (metrics, health, pprof)\n"))
	c.authFlags.greet(&text)
	c.greetDatabases(&text)
	if !isLoopback(c.Host) && c.tls == nil {
		fmt.Fprintf(&text, "\nThis is plain HTTP: have a proxy in front of it that speaks TLS.\n")
	}
	which := ""
	if c.DefaultNamespace == "" {
		which = " --namespace " + c.Namespace[0]
	}
	fmt.Fprintf(&text, `
Try it:

  dogwood get / --url %s --secret-file %s%s

`, reachable(base), secretFile(c.Data), which)
	fmt.Fprint(e.stdout, text.String())
}

// shownSecret is the file of the admin secret as the greeting shows it.
func (c *serveCommand) shownSecret() string {
	file := secretFile(c.Data)
	if _, err := os.Stat(file); err != nil {
		return file + "   (missing: see the log)"
	}
	return file
}

// minSecret is the length of the shortest secret that is taken for one.
const minSecret = 16

func secretFile(dir string) string { return filepath.Join(dir, "admin-secret") }

// adminSecret is adminSecret of the data directory. A server starts without a secret that
// cannot be created, so that it serves what it has.
func (c *serveCommand) adminSecret(log *slog.Logger) (string, error) {
	secret, err := adminSecret(c.Data)
	if missing := (*noSecretError)(nil); errors.As(err, &missing) && durable.Unwritable(err) {
		log.Error("there is no admin secret, and none can be created: make room and send SIGHUP", "file", secretFile(c.Data), "err", err)
		return "", nil
	}
	return secret, err
}

// adminSecret reads the secret of the data directory, creating both if need be.
func adminSecret(dir string) (string, error) {
	file := secretFile(dir)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createSecret(file); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", &noSecretError{err}
		}
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return "", err
	}
	return checkSecret(file, text)
}

// A noSecretError says that there is no secret, and why none could be created.
type noSecretError struct{ err error }

func (e *noSecretError) Error() string { return e.err.Error() }
func (e *noSecretError) Unwrap() error { return e.err }

// checkSecret returns the secret of a file with the given text.
func checkSecret(file string, text []byte) (string, error) {
	secret := strings.TrimSpace(string(text))
	if len(secret) < minSecret {
		return "", fmt.Errorf("%s: too short to be a secret; delete it to have a new one made", file)
	}
	return secret, nil
}

// othersCanRead reports whether a file has permissions for others than its
// owner. Windows keeps them elsewhere.
func othersCanRead(file string) bool {
	info, err := os.Stat(file)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

// createSecret makes a new file with a random secret that only its owner can
// read, and its directory. The error is fs.ErrExist if another server was faster.
func createSecret(file string) error {
	if err := durable.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return durable.Create(file, []byte(rand.Text()+"\n"), 0o600)
}
