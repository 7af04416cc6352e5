package servers

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
)

// This file is what serve says about databases when it starts.

// warnUnserved warns of flags that are about databases that are not served: their
// names are more likely misspelt than meant for later.
func (c *Serve) warnUnserved(log *slog.Logger) {
	for flag, values := range map[string][]string{"--secret-file": c.SecretFile, "--audience": c.Audience} {
		for _, value := range values {
			if ns, _ := cutNamespace(value); ns != "" && !c.serves(ns) {
				log.Warn("a flag is about a database that is not served", "flag", flag, "namespace", ns)
			}
		}
	}
}

// serves reports whether a database is asked for, or has a file already.
func (c *Serve) serves(ns string) bool {
	if ns == c.DefaultNamespace || slices.Contains(c.Namespace, ns) {
		return true
	}
	_, err := os.Stat(filepath.Join(c.Data, ns+".db"))
	return err == nil
}

// isEmpty reports whether the data directory has no data file.
func (c *Serve) isEmpty() bool {
	list, err := os.ReadDir(c.Data)
	return err == nil && !slices.ContainsFunc(list, func(e os.DirEntry) bool { return filepath.Ext(e.Name()) == ".db" })
}

// warnEmpty warns of a data directory without a database if there are backups of one that is made
// in it: more likely its disk is not mounted.
func (c *Serve) warnEmpty(log *slog.Logger) {
	backups, err := os.ReadDir(c.BackupDir)
	if err != nil || !c.isEmpty() {
		return
	}
	for _, ns := range append(slices.Clip(c.Namespace), c.DefaultNamespace) {
		i := slices.IndexFunc(backups, func(e os.DirEntry) bool {
			is, _ := filepath.Match(ns+"-????????T??????Z.db", e.Name())
			return is
		})
		if i >= 0 {
			log.Warn("the data directory has no database, but there are backups of one: a disk that is not mounted, or a misspelt path?",
				"data", c.Data, "namespace", ns, "backup", filepath.Join(c.BackupDir, backups[i].Name()))
			return
		}
	}
}

// greetDatabases prints what differs from one database to the other.
func (c *Serve) greetDatabases(w io.Writer) {
	if c.DefaultNamespace == "" {
		fmt.Fprintf(w, "\nThere is no default database: requests must name one with ?ns=%s.\n", c.Namespace[0])
	}
}
