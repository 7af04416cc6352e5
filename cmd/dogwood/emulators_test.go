package main

import (
	"os"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

func TestEmulatorFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	config := `{"emulators": {"database": {"host": "0.0.0.0", "port": 9123}}} // as the tools read it`
	if err := os.WriteFile("firebase.json", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	parse := func(args ...string) *commands {
		t.Helper()
		c := new(commands)
		parser, err := kong.New(c, kong.Name("dogwood"), kong.DefaultEnvars(console.EnvPrefix), kong.Vars{"version": "test"},
			kong.Resolvers(kong.ResolverFunc(resolveEmulator)), kong.Bind(new(console.Env)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(args); err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := parse("dev"); c.Dev.Host != "0.0.0.0" || c.Dev.Port != 9123 {
		t.Errorf("dev listens on %s, port %d", c.Dev.Host, c.Dev.Port)
	}
	if c := parse("dev", "--port", "0"); c.Dev.Host != "0.0.0.0" || c.Dev.Port != 0 {
		t.Errorf("dev --port 0 listens on %s, port %d", c.Dev.Host, c.Dev.Port)
	}
	if c := parse("serve", "--data", "d"); c.Serve.Port != 9000 {
		t.Errorf("serve listens on port %d", c.Serve.Port)
	}
	if c := parse("get", "/a"); c.Get.URL != "http://localhost:9123" {
		t.Errorf("get asks %s", c.Get.URL)
	}
	t.Setenv("DOGWOOD_URL", "http://localhost:1")
	if c := parse("get", "/a"); c.Get.URL != "http://localhost:1" {
		t.Errorf("get asks %s with DOGWOOD_URL", c.Get.URL)
	}
}
