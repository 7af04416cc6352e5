package packaging

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const monitoring = "packaging/monitoring/"

// An alert is a rule of alerts.yml.
type alert struct {
	Alert, Expr string
	Labels      struct{ Severity string }
	Annotations struct{ Summary, Description string }
}

// alertRules are the alerts by their names.
func alertRules(t *testing.T) map[string]alert {
	var file struct{ Groups []struct{ Rules []alert } }
	readYAML(t, monitoring+"alerts.yml", &file)
	all := make(map[string]alert)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || r.Annotations.Summary == "" || r.Annotations.Description == "" || r.Labels.Severity == "" {
				t.Errorf("rule %q lacks its name, its texts or its severity", r.Alert)
			}
			all[r.Alert] = r
		}
	}
	return all
}

// TestMonitoringMetrics: each metric that an alert or the dashboard names is exported by a
// server, with the labels and the values that they ask for. The server makes backups and has
// a certificate, since their metrics are not there without, and has answered requests.
//
// Texts of alerts and legends show only labels that the result has, and a legend tells the
// servers apart where each has a line of its own.
func TestMonitoringMetrics(t *testing.T) {
	have := scrape(t)
	have["up"] = nil // of Prometheus itself
	for name, r := range alertRules(t) {
		for _, problem := range have.problems(r.Expr) {
			t.Errorf("alert %s: %s", name, problem)
		}
		for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(r.Annotations.Summary+r.Annotations.Description, -1) {
			if !slices.Contains(have.labelsOf(r.Expr), m[1]) {
				t.Errorf("alert %s shows the label %s, which the result does not have", name, m[1])
			}
		}
	}
	b := readBoard(t)
	for _, v := range b.Templating.List {
		if v.Type == "query" {
			for _, problem := range have.problems(v.Definition) {
				t.Errorf("variable %s: %s", v.Name, problem)
			}
		}
	}
	for _, p := range b.Panels {
		for _, q := range p.Targets {
			for _, problem := range have.problems(q.Expr) {
				t.Errorf("panel %s: %s", p.Title, problem)
			}
			labels := have.labelsOf(q.Expr)
			for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(q.LegendFormat, -1) {
				if !slices.Contains(labels, m[1]) {
					t.Errorf("panel %s: the legend %s shows the label %s, which the result does not have", p.Title, q.LegendFormat, m[1])
				}
			}
			if slices.Contains(labels, "instance") && !strings.Contains(q.LegendFormat, "{{instance}}") {
				t.Errorf("panel %s: the legend %s is the same for all servers", p.Title, q.LegendFormat)
			}
		}
	}
}

// TestPromtool: Prometheus accepts the rules, and each alert fires when it should.
func TestPromtool(t *testing.T) {
	tests := read(t, monitoring+"alerts_test.yml")
	for name := range alertRules(t) {
		if !strings.Contains(tests, `alertname="`+name+`"`) {
			t.Errorf("%salerts_test.yml has no test of %s", monitoring, name)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not there: the rules are not checked by Prometheus; the Debian package prometheus has it")
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		c := exec.Command(promtool, args...)
		c.Dir = filepath.Join(root, monitoring)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	// The expressions of the dashboard, as rules: what Grafana would put in is put in here.
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	filled := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$namespace", ".*")
	for _, p := range readBoard(t).Panels {
		for _, q := range p.Targets {
			text, _ := json.Marshal(filled.Replace(q.Expr))
			fmt.Fprintf(&rules, "      - { record: 'panel:%s%s', expr: %s }\n", regexp.MustCompile(`\W+`).ReplaceAllString(p.Title, "_"), q.RefID, text)
		}
	}
	file := filepath.Join(t.TempDir(), "dashboard.yml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", "--lint=none", file).CombinedOutput(); err != nil {
		t.Errorf("promtool does not take the expressions of the dashboard: %v\n%s", err, out)
	}
}

// scrape runs a server, with some load, and returns the metrics that it exports.
func scrape(t *testing.T) exported {
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	rules := filepath.Join(dir, "rules.json")
	if err := os.WriteFile(rules, []byte(`{"rules": {"open": {".read": true, ".write": true}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program(t), "serve", "--port", "0", "--data", filepath.Join(dir, "data"), "--rules", rules,
		"--backup-dir", filepath.Join(dir, "backups"), "--tls-cert", cert, "--tls-key", key)
	c.Env = append(os.Environ(), "TMPDIR="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	url := ""
	for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
		if base, ok := strings.CutPrefix(lines.Text(), "Listening on "); ok {
			load(t, base, cert)
		}
		if _, rest, ok := strings.Cut(lines.Text(), "operations"); ok {
			url, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
		}
	}
	go io.Copy(io.Discard, out)
	have := make(exported)
	for range 600 { // until the first backup is made
		r, err := http.Get(url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			have.add(lines.Text())
		}
		r.Body.Close()
		if have["dogwood_last_backup_timestamp_seconds"] != nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return have
}

// load asks a server with a certificate for what works, and for what it refuses.
func load(t *testing.T, base, cert string) {
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}, DisableKeepAlives: true}}
	for _, r := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/healthz", 200},
		{"PUT", "/open/a.json", 200},
		{"GET", "/open.json", 200},
		{"GET", "/closed.json", 401},
		{"GET", "/open.json?auth=wrong", 401},
	} {
		q, err := http.NewRequest(r.method, base+r.path, strings.NewReader("1"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != r.status {
			t.Errorf("%s %s: %s, want %d", r.method, r.path, answer.Status, r.status)
		}
	}
}

// certificate writes a certificate of localhost, which signs itself.
func certificate(t *testing.T, dir string) (cert, key string) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
