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

// greetDatabases prints what differs from one database to the other.
func (c *Serve) greetDatabases(w io.Writer) {
	if c.DefaultNamespace == "" {
		fmt.Fprintf(w, "\nThere is no default database: requests must name one with ?ns=%s.\n", c.Namespace[0])
	}
}
