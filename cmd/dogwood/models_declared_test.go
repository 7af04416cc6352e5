package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/tree"
)

// declare deploys the model's data document and then has an administrator write the data.
func (c *modelCrash) declare(dir string) {
	c.t.Helper()
	read := func(path ...string) string {
		text, err := os.ReadFile(filepath.Join(path...))
		if err != nil {
			c.t.Fatal(err)
		}
		return string(text)
	}
	secret := strings.TrimSpace(read(c.data, "admin-secret"))
	put := func(path, body string) {
		r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPut, c.server.url+path, strings.NewReader(body))
		if err != nil {
			c.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			c.t.Fatal(err)
		}
		defer a.Body.Close()
		if text, err := io.ReadAll(a.Body); err != nil || a.StatusCode != http.StatusOK {
			c.t.Fatalf("PUT %s: %s %s, %v", path, a.Status, text, err)
		}
	}
	text := read(dir, "database.data.json")
	document, err := derive.Parse(text)
	if err != nil {
		c.t.Fatal(err)
	}
	data, err := c.model.data(dir)
	if err != nil {
		c.t.Fatal(err)
	}
	put("/.settings/data.json", text)
	put("/.json", string(data))
	c.ledger = newLedger(tree.MustParseNode(string(data)))
	for _, d := range document.Definitions() {
		if d.Target() != "" {
			c.ledger.kept = append(c.ledger.kept, d.Target())
		}
		if d.List() != "" {
			c.ledger.bounded = append(c.ledger.bounded, d.List()+"/$")
		}
	}
}

// isKept reports whether a definition of the data document keeps a leaf: its value is
// for the invariants to prove.
func (l *ledger) isKept(path string) bool { return matchesOne(l.kept, path) }

// isGone reports whether a leaf is absent that was in a bounded list.
func (l *ledger) isGone(path string, n tree.Node) bool {
	return n.IsEmpty() && matchesOne(l.bounded, path)
}

// matchesOne reports whether a path is at one of some patterns, or below it.
func matchesOne(patterns []string, path string) bool {
	at := strings.Split(path, "/")
	for _, pattern := range patterns {
		keys := strings.Split(pattern, "/")
		same := len(at) >= len(keys)
		for i := 0; same && i < len(keys); i++ {
			same = keys[i] == at[i] || strings.ContainsAny(keys[i], "${")
		}
		if same {
			return true
		}
	}
	return false
}
