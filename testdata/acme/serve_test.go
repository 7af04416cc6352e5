package acme

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// binary returns the program: that of DOGWOOD_BIN, or one that is built now.
func binary(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("DOGWOOD_BIN"); bin != "" {
		return bin
	}
	bin := filepath.Join(t.TempDir(), "dogwood")
	build := exec.Command("go", "build", "-o", bin, "./cmd/dogwood")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// imageUser is the user of the image. It may write to /data only.
const imageUser = 65532

// A machine is where the program runs: here, or in the file system of the image, which
// DOGWOOD_ROOT names.
type machine struct {
	root string // "" is here
	bin  string
}

func newMachine(t *testing.T) machine {
	t.Helper()
	if root := os.Getenv("DOGWOOD_ROOT"); root != "" {
		return machine{root: root, bin: "/dogwood"}
	}
	return machine{bin: binary(t)}
}

// dir returns an empty directory that the program may write to.
func (m machine) dir(t *testing.T) string {
	t.Helper()
	if m.root == "" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(filepath.Join(m.root, "data"), "acme")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, imageUser, imageUser); err != nil {
		t.Fatal(err)
	}
	return dir
}

// inside returns the path of a file for the program.
func (m machine) inside(path string) string { return strings.TrimPrefix(path, m.root) }

// command runs the program, which trusts the authority at this file only.
func (m machine) command(t *testing.T, caFile string, args ...string) *exec.Cmd {
	t.Helper()
	if m.root == "" {
		cmd := exec.Command(m.bin, args...)
		cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+caFile)
		return cmd
	}
	text, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(m.dir(t), "ca.pem")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("chroot", append([]string{fmt.Sprintf("--userspec=%d:%[1]d", imageUser), m.root, m.bin}, args...)...)
	cmd.Env = []string{"SSL_CERT_FILE=" + m.inside(file), "TMPDIR=/data"}
	return cmd
}

// serve starts a server and returns when its log has a text, which every run has.
func serve(t *testing.T, m machine, caFile, until string, args ...string) (stop func()) {
	t.Helper()
	cmd := m.command(t, caFile, append([]string{"serve", "--ops-addr", "off", "--log-format", "json"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ends with %v", err)
		}
	}
	var log strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		log.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), until) {
			go io.Copy(io.Discard, stderr)
			return stop
		}
	}
	t.Fatalf("the server ended without %q:\n%s", until, &log)
	return nil
}

// ask makes a request by https to the name of the server.
func ask(t *testing.T, a *authority, addr, secretFile string) string {
	t.Helper()
	secret, err := os.ReadFile(secretFile)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: a.roots},
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://"+host+"/greeting.json?ns=default", strings.NewReader(`"hello"`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", answer.StatusCode, body, err)
	}
	return string(body)
}

// TestServe: dogwood serve gets a certificate by either proof, answers a client that trusts the
// authority and nothing else, and starts again without asking for another one.
func TestServe(t *testing.T) {
	m := newMachine(t)
	for _, proof := range []string{"tls-alpn-01", "http-01"} {
		t.Run(proof, func(t *testing.T) {
			port, httpPort := freePort(t), freePort(t)
			data := m.dir(t)
			args := []string{"--data", m.inside(data), "--port", fmt.Sprint(port), "--acme-host", host, "--acme-email", "admin@example.test"}
			a := newAuthority(t, httpPort, port)
			if proof == "http-01" {
				a = newAuthority(t, httpPort, freePort(t)) // nothing is on the port for TLS
				args = append(args, "--acme-http", fmt.Sprintf("127.0.0.1:%d", httpPort))
			}
			args = append(args, "--acme-directory", a.directory)
			addr := fmt.Sprintf("127.0.0.1:%d", port)

			stop := serve(t, m, a.caFile, `"msg":"got a certificate"`, args...)
			if got := ask(t, a, addr, filepath.Join(data, "admin-secret")); got != `"hello"` {
				t.Errorf("the answer is %s", got)
			}
			if proof == "http-01" {
				redirects(t, httpPort, port)
			}
			stop()

			a.broken.Store(true)
			stop = serve(t, m, a.caFile, `"msg":"started"`, args...)
			if got := ask(t, a, addr, filepath.Join(data, "admin-secret")); got != `"hello"` {
				t.Errorf("after a restart the answer is %s", got)
			}
			stop()
		})
	}
}

// redirects checks what browsers get by plain HTTP.
func redirects(t *testing.T, httpPort, port int) {
	t.Helper()
	for _, c := range []struct {
		method, host string
		status       int
		location     string
	}{
		{"GET", host, 308, fmt.Sprintf("https://%s:%d/a.json?_=1", host, port)},
		{"PUT", host, 403, ""},
		{"GET", "evil.example.test", 421, ""},
	} {
		r, err := http.NewRequest(c.method, fmt.Sprintf("http://127.0.0.1:%d/a.json?_=1", httpPort), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status || answer.Header.Get("Location") != c.location {
			t.Errorf("%s %s: %d %s", c.method, c.host, answer.StatusCode, answer.Header.Get("Location"))
		}
	}
}
