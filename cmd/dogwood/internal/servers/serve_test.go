package servers

import (
	"os"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
)

// TestGreetingWithoutASecret: what needs the admin secret is only shown if there is one.
func TestGreetingWithoutASecret(t *testing.T) {
	c := &Serve{Namespace: []string{"default"}}
	c.Data, c.Host = t.TempDir(), "127.0.0.1"
	for _, there := range []bool{false, true} {
		if there {
			if err := os.WriteFile(datadir.SecretFile(c.Data), []byte("a-secret-of-the-test"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var text strings.Builder
		c.greet(&console.Env{Stdout: &text}, "http://127.0.0.1:1")
		missing, try := strings.Contains(text.String(), "missing: see the log"), strings.Contains(text.String(), "Try it")
		if missing == there || try != there {
			t.Errorf("secret %t: %s", there, text.String())
		}
	}
}
