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
	data := read(dir, "data.json")
	put("/.settings/data.json", text)
	put("/.json", data)
	c.ledger = newLedger(tree.MustParseNode(data))
	for _, d := range document.Definitions() {
		c.ledger.kept = append(c.ledger.kept, d.Target())
	}
}

// isKept reports whether a definition of the data document keeps a leaf: its value is
// for the invariants to prove.
func (l *ledger) isKept(path string) bool {
	at := strings.Split(path, "/")
	for _, target := range l.kept {
		keys := strings.Split(target, "/")
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
