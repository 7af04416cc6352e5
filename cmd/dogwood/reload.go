package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/server/auth"
)

// This file has a server read its files again at SIGHUP.

// catchHangups has SIGHUP reload instead of ending the process, until the function that
// it returns is called.
func (f *listenFlags) catchHangups() (stop func()) {
	f.hangups = make(chan os.Signal, 1) // one that comes during a reload is for the next
	signal.Notify(f.hangups, syscall.SIGHUP)
	return func() { signal.Stop(f.hangups) }
}

func (f *listenFlags) reloadAtHangups(ctx context.Context, s *server.Server, log *slog.Logger) {
	for {
		select {
		case <-f.hangups:
			f.reload(ctx, s, log)
		case <-ctx.Done():
			return
		}
	}
}

// reloadAll reads all files again that a server was started with. Each is on its own: a
// mistake in one leaves that one as it was.
func (c *serveCommand) reloadAll(ctx context.Context, s *server.Server, log *slog.Logger) {
	told := func(what, file string, err error) {
		if err != nil {
			log.Error("not reloaded, the one before stays in use", "what", what, "file", file, "err", err)
			return
		}
		log.Info("reloaded", "what", what, "file", file)
	}
	if c.certificate != nil {
		told("certificate", c.TLSCert, c.certificate.reload())
	}
	if c.Rules != "" {
		told("rules", c.Rules, c.reloadRules(ctx, s))
	}
	told("secrets", secretFile(c.Data), c.reloadSecrets(s))
	keys := s.ReloadKeys()
	for _, place := range slices.Sorted(maps.Keys(keys)) {
		told("keys", place, keys[place])
	}
}

// reloadRules puts the rules of the files in force, in databases that were given none.
func (f *rulesFlags) reloadRules(ctx context.Context, s *server.Server) error {
	next, err := f.load()
	if err != nil {
		return err
	}
	return s.SetDefaultRules(ctx, next.all, f.withSample(next.of))
}

// reloadSecrets takes all secrets from their files, or none if there is a mistake in one.
func (c *serveCommand) reloadSecrets(s *server.Server) error {
	admin, err := adminSecret(c.Data)
	if err != nil {
		return err
	}
	others, err := c.secrets(slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return err
	}
	s.SetSecrets([]string{admin}, others)
	return nil
}

// secrets reads the files of --secret-file.
func (f *authFlags) secrets(log *slog.Logger) (all []auth.Secret, err error) {
	for _, text := range f.SecretFile {
		ns, file := cutNamespace(text)
		list, err := readSecretFile(file)
		if err != nil {
			return nil, fmt.Errorf("--secret-file: %w", err)
		}
		if othersCanRead(file) {
			log.Warn("others can read secrets", "file", file)
		}
		for _, s := range list {
			if ns != "" {
				s.Namespaces = []string{ns}
			}
			all = append(all, s)
		}
	}
	return all, nil
}
