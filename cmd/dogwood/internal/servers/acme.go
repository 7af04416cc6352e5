package servers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/mail"
	"net/url"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/server/certs"
)

// acmeFlags have a server get its certificates itself.
type acmeFlags struct {
	ACMEHost      []string `group:"TLS" name:"acme-host" help:"Get a certificate for this name by ACME and renew it: the server then speaks TLS and nothing else. It says that you accept the terms of the authority, which must reach the server on port 443 of the name, or on port 80 with --acme-http." placeholder:"NAME"`
	ACMEEmail     string   `group:"TLS" name:"acme-email" help:"Where the authority writes to about your certificates." placeholder:"ADDRESS"`
	ACMEDirectory string   `group:"TLS" name:"acme-directory" help:"ACME directory of the authority, Let's Encrypt if it is not given." placeholder:"URL"`
	ACMEHTTP      string   `group:"TLS" name:"acme-http" help:"Also listen here, such as on :80, for the authority; browsers are redirected to https." placeholder:"HOST:PORT"`

	certs  *certs.Certs // nil: none
	prover *http.Server // at ACMEHTTP; nil: none
}

// acmeDir is the directory of accounts, keys and certificates, in the data directory.
const acmeDir = "acme"

// open reads what is kept, if there are hosts.
func (f *acmeFlags) open(data string, log *slog.Logger) error {
	if len(f.ACMEHost) == 0 {
		if f.ACMEEmail != "" || f.ACMEDirectory != "" || f.ACMEHTTP != "" {
			return errors.New("--acme-email, --acme-directory and --acme-http need --acme-host")
		}
		return nil
	}
	if f.ACMEDirectory != "" {
		u, err := url.Parse(f.ACMEDirectory)
		if err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("--acme-directory %s: must be an https address", f.ACMEDirectory)
		}
	}
	if f.ACMEEmail != "" {
		if a, err := mail.ParseAddress(f.ACMEEmail); err != nil || a.Address != f.ACMEEmail {
			return fmt.Errorf("--acme-email %s: not an address of a mailbox", f.ACMEEmail)
		}
	}
	for _, name := range f.ACMEHost {
		if _, err := certs.CheckHost(name); err != nil {
			return fmt.Errorf("--acme-host: %w", err)
		}
	}
	var err error
	f.certs, err = certs.New(certs.Options{Hosts: f.ACMEHost, Email: f.ACMEEmail, Directory: f.ACMEDirectory,
		Dir: filepath.Join(data, acmeDir), HTTP: f.ACMEHTTP != "", Log: log})
	if err != nil {
		return fmt.Errorf("--acme-host: %w", err)
	}
	return nil
}

// authority is the name of the authority.
func (f *acmeFlags) authority() string {
	if u, err := url.Parse(f.ACMEDirectory); err == nil && u.Host != "" {
		return u.Host
	}
	return "Let's Encrypt"
}

// Bounds of the listener of --acme-http, which answers in a moment, and holds nothing.
const (
	proverTimeout     = 10 * time.Second
	proverHeaderBytes = 16 << 10
	proverConnections = 1_000
)

// prove starts the listener of --acme-http. port is that of TLS.
func (f *acmeFlags) prove(port string, log *slog.Logger) error {
	if f.ACMEHTTP == "" {
		return nil
	}
	l, err := net.Listen("tcp", f.ACMEHTTP)
	if err != nil {
		return fmt.Errorf("--acme-http: %w", err)
	}
	var open atomic.Int64
	f.prover = &http.Server{
		Handler:        f.certs.Challenges(port),
		ReadTimeout:    proverTimeout,
		WriteTimeout:   proverTimeout,
		IdleTimeout:    proverTimeout,
		MaxHeaderBytes: proverHeaderBytes,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ConnState: func(c net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				if open.Add(1) > proverConnections {
					_ = c.Close() // its reader finds out, and ends it
				}
			case http.StateClosed:
				open.Add(-1)
			}
		},
	}
	go func() {
		if err := f.prover.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the authority of certificates can no longer be answered on --acme-http", "err", err)
		}
	}()
	return nil
}

// stopProving ends the listener.
func (f *acmeFlags) stopProving() {
	if f.prover != nil {
		_ = f.prover.Close() // a listener that is closed already
	}
}

// warnUnreachable warns of a server that the authority cannot reach, as far as one can tell.
func (f *acmeFlags) warnUnreachable(host string, p port, log *slog.Logger) {
	if f.certs == nil || f.ACMEHTTP != "" || f.ACMEDirectory != "" {
		return
	}
	if client.IsLoopback(host) {
		log.Warn("the authority of certificates must connect to port 443 of the host: --host is an address that only this machine reaches", "host", host)
	} else if p != 443 {
		log.Warn("the authority of certificates must connect to port 443 of the host: something has to pass it on to --port", "port", strconv.Itoa(int(p)))
	}
}

// obtain gets and renews certificates until ctx ends.
func (f *acmeFlags) obtain(ctx context.Context) {
	if f.certs != nil {
		f.certs.Run(ctx)
	}
}
