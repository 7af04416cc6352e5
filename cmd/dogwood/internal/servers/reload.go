package servers

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/server"
)

// This file has a server read its files again at SIGHUP.

// reloadAll reads all files again that a server was started with. Each is on its own: a
// mistake in one leaves that one as it was.
func (c *Serve) reloadAll(ctx context.Context, s *server.Server, log *slog.Logger) {
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
	told("secrets", datadir.SecretFile(c.Data), c.reloadSecrets(s))
	keys := s.ReloadKeys()
	for _, place := range slices.Sorted(maps.Keys(keys)) {
		told("keys", place, keys[place])
	}
}

// reloadSecrets takes all secrets from their files, or none if there is a mistake in one.
func (c *Serve) reloadSecrets(s *server.Server) error {
	admin, err := datadir.AdminSecret(c.Data)
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
