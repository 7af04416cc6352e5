package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// A shutdownClient speaks HTTP to a server process by hand, so that it can begin
// requests and not end them.
type shutdownClient struct {
	t            *testing.T
	host, secret string
}

// begin sends the beginning of a request.
func (c shutdownClient) begin(method, target string, length int, body string) net.Conn {
	c.t.Helper()
	conn, err := net.Dial("tcp", c.host)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
		method, target, c.secret, length, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return conn
}

// A shutdown is bounded while large updates are queued, an export is not read and an
// import trickles. Every write is answered or its connection is closed; after a restart
// there is what was acknowledged, and nothing of what was refused.
func TestShutdownIsBounded(t *testing.T) {
	tier.Need(t, tier.Full)
	writers, rows := tier.Pick(0, 30, 60), 20_000
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	s := startListening(t, exec.Command("dogwood", "serve", "--port", "0", "--ops-addr", "off", "--data", data, "--drain-timeout", "1s"))
	secret, err := os.ReadFile(filepath.Join(data, "admin-secret"))
	if err != nil {
		t.Fatal(err)
	}
	c := shutdownClient{t, strings.TrimPrefix(s.url, "http://"), strings.TrimSpace(string(secret))}
	big := `{"text":"` + strings.Repeat("x", 9<<20) + `"}`
	if resp := c.answer(c.begin("PUT", "/large.json", len(big), big)); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	c.begin("GET", "/.json?format=export", 0, "") // the client does not read it
	// More than the system keeps for a socket, so the server has begun to read it.
	c.begin("PUT", "/import.json?writeSizeLimit=unlimited", 100<<20, `{"a":["`+strings.Repeat(strings.Repeat("x", 1000)+`","`, 32<<10))
	var update strings.Builder
	for i := range rows {
		fmt.Fprintf(&update, `,"k%d/a":%d`, i, i)
	}
	text := `{"last":true` + update.String() + "}"
	var answers sync.WaitGroup
	statuses := make([]int, writers) // 0: closed without an answer
	for i := range writers {
		conn := c.begin("PATCH", fmt.Sprintf("/w%d.json?print=silent", i), len(text), text)
		answers.Go(func() {
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil {
				statuses[i] = resp.StatusCode
				resp.Body.Close()
			}
		})
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.wait() }()
	select {
	case <-ended:
	case <-time.After(patience): // of a bound of 3 s
		t.Fatal("the server does not end")
	}
	answers.Wait()
	if code, log := s.cmd.ProcessState.ExitCode(), s.stderr.String(); code != 1 || !strings.Contains(log, "shutdown: the drain time is over") || !strings.Contains(log, "imports=1") {
		t.Errorf("exit code %d, log:\n%s", code, log)
	}
	c.checkWrites(data, statuses)
}

// answer reads the answer to a request.
func (c shutdownClient) answer(conn net.Conn) *http.Response {
	c.t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // its end is not looked at
	return resp
}

// checkWrites starts the server again and compares its data with the answers.
func (c shutdownClient) checkWrites(data string, statuses []int) {
	c.t.Helper()
	s := startListening(c.t, exec.Command("dogwood", "serve", "--port", "0", "--ops-addr", "off", "--data", data))
	resp, err := http.Get(s.url + "/.json?shallow=true&auth=" + c.secret)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	var there map[string]bool
	if err := json.NewDecoder(resp.Body).Decode(&there); err != nil {
		c.t.Fatal(err)
	}
	if there["import"] || !there["large"] {
		c.t.Errorf("an unfinished import is there, or what was written before is not: %v", there)
	}
	counts := make(map[int]int)
	for i, status := range statuses {
		counts[status]++
		stored := there[fmt.Sprint("w", i)]
		switch {
		case status >= 200 && status < 300 && !stored:
			c.t.Errorf("write %d was acknowledged and is lost", i)
		case status >= 300 && stored:
			c.t.Errorf("write %d was refused with %d and is there", i, status)
		}
	}
	c.t.Logf("answers: %v", counts)
	if err := s.stop(); err != nil {
		c.t.Error(err)
	}
}

// The second signal ends a server that drains, and says so.
func TestSecondSignal(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := startListening(t, exec.Command("dogwood", "serve", "--port", "0", "--ops-addr", "off", "--data", data, "--drain-timeout", "1h"))
	secret, err := os.ReadFile(filepath.Join(data, "admin-secret"))
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(s.url, "http://")
	c := shutdownClient{t, host, strings.TrimSpace(string(secret))}
	// More than the system keeps for a socket, so the server has begun to read it.
	conn := c.begin("PUT", "/import.json?writeSizeLimit=unlimited", 100<<20, "{"+strings.Repeat(" ", 32<<20))
	go func() { // a body that does not stall
		for err := error(nil); err == nil; time.Sleep(50 * time.Millisecond) {
			_, err = conn.Write([]byte(" "))
		}
	}()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for conn, err := net.Dial("tcp", host); err == nil; conn, err = net.Dial("tcp", host) {
		conn.Close() // until the first signal has arrived
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.ended()
	}()
	again := time.NewTicker(50 * time.Millisecond) // one of them is no copy of the first
	defer again.Stop()
	for signalling := true; signalling; {
		select {
		case <-again.C:
			_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		case <-ended:
			signalling = false
		}
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 143 || !strings.Contains(s.stderr.String(), "ended at once by a second signal (SIGTERM)") {
		t.Errorf("exit code %d\n%s", code, &s.stderr)
	}
}

// SIGHUP takes a new certificate and new secrets, and keeps the ones before if they are
// broken.
func TestHangupReloads(t *testing.T) {
	dir := t.TempDir()
	data, cert, key := filepath.Join(dir, "data"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	secrets, log := filepath.Join(dir, "secrets"), filepath.Join(dir, "log")
	stamp := time.Now().Add(-time.Hour)
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, stamp, stamp); err != nil { // only SIGHUP tells that it is new
			t.Fatal(err)
		}
	}
	certify := func(serial int64) {
		c, k := selfSigned(t, serial)
		write(cert, c)
		write(key, k)
	}
	certify(1)
	write(secrets, "the first secret of all\n")
	stderr, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	cmd := exec.Command("dogwood", "serve", "--port", "0", "--ops-addr", "off", "--data", data, "--tls-cert", cert, "--tls-key", key, "--secret-file", secrets)
	cmd.Stderr = stderr
	s := startListening(t, cmd)
	reload := func(lines ...string) {
		t.Helper()
		if err := stderr.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
				text, err := os.ReadFile(log)
				if err != nil || time.Now().After(end) {
					t.Fatalf("the log does not have %q: %v\n%s", line, err, text)
				}
				if bytes.Contains(text, []byte(line)) {
					break
				}
			}
		}
	}
	expect := func(serial int64, secret string) {
		t.Helper()
		got, status := askTLS(t, s.url, secret)
		if got != serial || status != 200 {
			t.Errorf("certificate %d and status %d, want %d and 200", got, status, serial)
		}
	}
	expect(1, "the first secret of all")
	certify(2)
	write(secrets, "the second secret of all\n")
	reload("msg=reloaded what=certificate", "msg=reloaded what=secrets")
	expect(2, "the second secret of all")
	if _, status := askTLS(t, s.url, "the first secret of all"); status != 401 {
		t.Errorf("a secret that was removed: status %d, want 401", status)
	}
	write(cert, "nothing")
	write(secrets, "short\n")
	reload(`stays in use" what=certificate`, `stays in use" what=secrets`)
	expect(2, "the second secret of all")
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

// askTLS returns the serial number of a server's certificate, and the status of a read.
func askTLS(t *testing.T, url, secret string) (serial int64, status int) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(url + "/.json?" + "auth=" + strings.ReplaceAll(secret, " ", "%20"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.TLS.PeerCertificates[0].SerialNumber.Int64(), resp.StatusCode
}

// selfSigned returns a certificate with its key.
func selfSigned(t *testing.T, serial int64) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	pemOf := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	return pemOf("CERTIFICATE", der), pemOf("PRIVATE KEY", private)
}
