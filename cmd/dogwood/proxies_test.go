package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// TestProxies runs the configurations of docs/deployment.md with the real nginx and Caddy, if
// they are installed. A request, an event stream and a WebSocket go through each.
func TestProxies(t *testing.T) {
	tier.Need(t, tier.Long)
	configurations := map[string]string{}
	for _, b := range blocksOf(t, "docs/deployment.md") {
		configurations[b.file()] = b.text
	}
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.json")
	writeTestFile(t, rules, `{"rules": {".read": true, ".write": true}}`)
	server := startServer(t, "--data", filepath.Join(dir, "data"), "--namespace", "shop", "--rules", rules,
		"--trusted-proxy", "127.0.0.1", "--ops-addr", "off")
	host := strings.TrimPrefix(server.url, "http://")

	t.Run("nginx", func(t *testing.T) {
		checkProxy(t, startNginx(t, configurations["nginx.conf"], host))
	})
	t.Run("Caddy", func(t *testing.T) {
		checkProxy(t, startCaddy(t, configurations["Caddyfile"], host))
	})
}

// startNginx starts nginx with the configuration of a site, and returns its address.
func startNginx(t *testing.T, site, server string) string {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("there is no nginx")
	}
	dir, address := t.TempDir(), freeAddress(t)
	certificate, key := testCertificate(t, dir)
	site = replaceAll(t, site, map[string]string{
		"listen 443 ssl http2":        "listen " + address + " ssl http2",
		"127.0.0.1:9000":              server,
		"/etc/ssl/db.example.org.pem": certificate,
		"/etc/ssl/db.example.org.key": key,
		"/var/log/nginx/dogwood.log":  filepath.Join(dir, "access.log"),
		"server_name db.example.org;": "server_name db.example.org; client_body_temp_path " + dir + "; proxy_temp_path " + dir + ";",
	})
	file := filepath.Join(dir, "nginx.conf")
	writeTestFile(t, file, fmt.Sprintf("daemon off;\npid %s/pid;\nerror_log %s/error.log;\nevents {}\nhttp {\n%s\n}\n", dir, dir, site))
	runProxy(t, address, exec.Command(program, "-e", filepath.Join(dir, "error.log"), "-p", dir, "-c", file), os.Interrupt)
	return "https://" + address
}

// startCaddy starts Caddy with a Caddyfile, but without TLS, for which it would ask an issuer.
func startCaddy(t *testing.T, site, server string) string {
	t.Helper()
	program, err := exec.LookPath("caddy")
	if err != nil {
		t.Skip("there is no caddy")
	}
	dir, address := t.TempDir(), freeAddress(t)
	site = replaceAll(t, site, map[string]string{"db.example.org": "http://" + address, "127.0.0.1:9000": server})
	file := filepath.Join(dir, "Caddyfile")
	writeTestFile(t, file, "{\n\tadmin off\n}\n"+site)
	cmd := exec.Command(program, "run", "--config", file, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	runProxy(t, address, cmd, os.Kill) // otherwise it waits for connections
	return "http://" + address
}

// replaceAll replaces what a test cannot use as it stands. Each part must be there.
func replaceAll(t *testing.T, text string, parts map[string]string) string {
	t.Helper()
	for from, to := range parts {
		if !strings.Contains(text, from) {
			t.Fatalf("the configuration has no %q:\n%s", from, text)
		}
		text = strings.ReplaceAll(text, from, to)
	}
	return text
}

// runProxy starts a proxy and waits until it listens. The signal ends it at once.
func runProxy(t *testing.T, address string, cmd *exec.Cmd, end os.Signal) {
	t.Helper()
	var printed strings.Builder
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(end) // it may have ended
		<-ended
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = c.Close() // only to see whether it listens
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ends: %v\n%s", cmd.Path, err, &printed)
		case <-ctx.Done():
			t.Fatal("the proxy does not listen")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// checkProxy sends a write, follows it in an event stream, and opens a WebSocket.
func checkProxy(t *testing.T, proxy string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	insecure := &tls.Config{InsecureSkipVerify: true}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: insecure}}
	defer client.CloseIdleConnections()
	do := func(method, path, body, accept string) *http.Response {
		r, err := http.NewRequestWithContext(ctx, method, proxy+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	path := "/" + strings.ReplaceAll(t.Name(), "/", "-") + ".json?ns=shop"
	stream := bufio.NewScanner(do(http.MethodGet, path, "", "text/event-stream").Body)
	awaitLine(t, stream, `"data":null`)
	answer := do(http.MethodPut, path, "7", "*/*")
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "7" {
		t.Errorf("PUT: %s %q, %v", answer.Status, text, err)
	}
	awaitLine(t, stream, `"data":7`) // a proxy that buffers keeps it back

	dialer := websocket.Dialer{TLSClientConfig: insecure}
	socket, _, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(proxy, "http")+"/.ws?v=5&ns=shop", nil)
	if err != nil {
		t.Fatalf("WebSocket: %v", err)
	}
	defer socket.Close()
	if _, message, err := socket.ReadMessage(); err != nil || !strings.Contains(string(message), `"t":"h"`) {
		t.Errorf("WebSocket: %q, %v", message, err)
	}
}

func awaitLine(t *testing.T, stream *bufio.Scanner, text string) {
	t.Helper()
	for stream.Scan() {
		if strings.Contains(stream.Text(), text) {
			return
		}
	}
	t.Fatalf("the event stream ends without %s: %v", text, stream.Err())
}

// freeAddress returns an address of loopback that is free now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// testCertificate writes the certificate of package httptest and its key into files.
func testCertificate(t *testing.T, dir string) (certificate, key string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeTestFile(t, certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	writeTestFile(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	return certificate, key
}

func writeTestFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
