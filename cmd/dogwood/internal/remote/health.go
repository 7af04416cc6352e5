package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/build"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/profile"
)

// Health asks a server whether it works, as supervisors of it do.
type Health struct {
	URL     string        `help:"Address of the server. Without it, the operations listener at 127.0.0.1:9464 is asked, and if there is none, http://localhost:9000." placeholder:"URL"`
	Profile string        `help:"Ask the server of this profile, which dogwood login made. --url comes first." placeholder:"NAME"`
	Live    bool          `help:"Ask only whether the process answers, not whether it can store writes." env:"-"`
	Timeout time.Duration `help:"How long the answer may take." default:"5s" env:"-" placeholder:"TIME"`
}

func (Health) Help() string {
	return `Prints "ok" if the server can do its work (/readyz), and else says why not. The exit
code is 0 or 1. It needs no credentials. Containers and scripts can use it where there is
no curl.

The operations listener speaks plain HTTP on loopback, so it can be asked even if the
server speaks TLS for another name.

Examples:

  dogwood health
  dogwood health --live --timeout 1s
  dogwood health --url https://db.example.org`
}

// healthAddresses are asked in turn by commands that name no server. The first is that of
// the operations listener of "dogwood serve".
var healthAddresses = []string{"http://127.0.0.1:9464", "http://localhost:9000"}

func (c *Health) Run(e *console.Env) error {
	if c.Timeout <= 0 {
		return fmt.Errorf("--timeout %s: must be positive", c.Timeout)
	}
	servers := healthAddresses
	switch {
	case c.URL != "":
		servers = []string{c.URL}
	case c.Profile != "":
		p, err := profile.Find(c.Profile)
		if err != nil {
			return err
		}
		servers = []string{p.URL}
	}
	ctx, cancel := context.WithTimeout(e.Ctx, c.Timeout)
	defer cancel()
	var err error
	for _, server := range servers {
		err = c.ask(ctx, server)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
	}
	switch {
	case e.Ctx.Err() != nil:
		return console.ErrInterrupted
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no server at %s", strings.Join(servers, " or "))
	case err != nil:
		return err
	}
	_, err = fmt.Fprintln(e.Stdout, "ok")
	return err
}

// ask returns why a server does not work, nil if it does.
func (c *Health) ask(ctx context.Context, server string) error {
	u, err := client.ParseURL(server)
	if err != nil {
		return err
	}
	path := "/readyz"
	if c.Live {
		path = "/healthz"
	}
	ask := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/") + path}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, ask.String(), nil)
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", "dogwood/"+build.Version)
	asker := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := asker.Do(r)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: no answer for %s", ask, c.Timeout)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", ask, errors.Unwrap(err)) // without the method and the address
	}
	defer resp.Body.Close()
	const enough = 1 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, enough))
	if err != nil {
		return fmt.Errorf("%s: %w", ask, err)
	}
	text := console.Printable(strings.TrimSpace(string(body)))
	switch {
	case resp.StatusCode == http.StatusOK && text == "ok":
		return nil
	case resp.StatusCode == http.StatusServiceUnavailable && text != "":
		return fmt.Errorf("%s: not ready: %s", u.Host, text)
	}
	return fmt.Errorf("%s does not answer as a Dogwood server does (%s): is the address right?", ask, resp.Status)
}
