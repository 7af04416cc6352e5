package e2e

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/db"
	"google.golang.org/api/option"
)

// A served is one `dogwood serve` process that speaks TLS, with a data
// directory of its own.
type served struct{ bin, dir, url string }

const certificate = "../e2e/tls/cert.pem"

func serve(t *testing.T) *served {
	t.Helper()
	s := &served{bin: binary, dir: t.TempDir()}
	server := exec.Command(s.bin, "serve", "--port", "0", "--data", s.dir, "--namespace", "test,shop", "--default-namespace", "test",
		"--tls-cert", certificate, "--tls-key", "../e2e/tls/key.pem")
	out, err := server.StdoutPipe()
	ok(t, err)
	ok(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	ok(t, err)
	_, port, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "Listening on https://"), ":")
	s.url = "https://localhost:" + port
	return s
}

// account creates a service account and returns its key file.
func (s *served) account(t *testing.T, name string, args ...string) string {
	t.Helper()
	file := filepath.Join(s.dir, name+".key.json")
	s.run(t, append([]string{"serviceaccount", "create", name, "--out", file, "--url", s.url, "--data", s.dir}, args...)...)
	return file
}

func (s *served) run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(s.bin, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
}

// connect returns a client as the documentation of the SDK has it.
func (s *served) connect(t *testing.T, keyFile string, override *map[string]any) *db.Client {
	t.Helper()
	app, err := firebase.NewApp(context.Background(), &firebase.Config{DatabaseURL: s.url, AuthOverride: override}, option.WithCredentialsFile(keyFile))
	ok(t, err)
	c, err := app.Database(t.Context())
	ok(t, err)
	return c
}

// TestServiceAccount uses the key file of a service account. TestMain has made
// the certificate of the server one that is trusted.
func TestServiceAccount(t *testing.T) {
	s := serve(t)
	file := s.account(t, "backend")
	ctx, c := t.Context(), s.connect(t, file, nil)

	ok(t, c.NewRef("x").Set(ctx, map[string]any{"n": 1}))
	ok(t, c.NewRef("x").Update(ctx, map[string]any{"s": "ü"}))
	child, err := c.NewRef("list").Push(ctx, true)
	ok(t, err)
	ok(t, c.NewRef("x/n").Transaction(ctx, func(n db.TransactionNode) (any, error) {
		var v float64
		err := n.Unmarshal(&v)
		return v + 1, err
	}))
	var all map[string]any
	ok(t, c.NewRef("/").Get(ctx, &all))
	want(t, "data", all, map[string]any{"x": map[string]any{"n": 2.0, "s": "ü"}, "list": map[string]any{child.Key: true}})

	// Under the rules, which are locked, as a user and as nobody.
	for _, override := range []map[string]any{{"uid": "ana"}, nil} {
		err := s.connect(t, file, &override).NewRef("x").Set(ctx, 1)
		if err == nil || err.Error() != "http error status: 401; reason: Permission denied" {
			t.Errorf("as %v: %v", override, err)
		}
	}
}

// A limited account has no other database, a revoked one has none.
func TestServiceAccountsHaveBounds(t *testing.T) {
	s := serve(t)
	err := s.connect(t, s.account(t, "shop", "--namespace", "shop"), nil).NewRef("x").Set(t.Context(), 1)
	if err == nil || err.Error() != "http error status: 401; reason: Unauthorized request." {
		t.Errorf("in another database: %v", err)
	}
	file := s.account(t, "gone")
	before := s.connect(t, file, nil)
	ok(t, before.NewRef("x").Set(t.Context(), 1))
	s.run(t, "serviceaccount", "revoke", "gone", "--data", s.dir)
	err = before.NewRef("x").Set(t.Context(), 2)
	if err == nil || err.Error() != "http error status: 401; reason: Unauthorized request." {
		t.Errorf("with the access token of a revoked account: %v", err)
	}
	err = s.connect(t, file, nil).NewRef("x").Set(t.Context(), 2)
	if err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("with the key of a revoked account: %v", err)
	}
}
