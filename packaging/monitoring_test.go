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
	"io"
	"maps"
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

// metricName matches the names of metrics in expressions, without those of labels and functions.
var metricName = regexp.MustCompile(`\b(?:dogwood|go|process)_[a-z0-9_]+\b|\bup\b`)

// alertRules are the expressions of the alerts by their names.
func alertRules(t *testing.T) map[string]string {
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Labels      struct{ Severity string }
				Annotations struct{ Summary, Description string }
			}
		}
	}
	readYAML(t, monitoring+"alerts.yml", &file)
	all := make(map[string]string)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || r.Annotations.Summary == "" || r.Annotations.Description == "" || r.Labels.Severity == "" {
				t.Errorf("rule %q lacks its name, its texts or its severity", r.Alert)
			}
			all[r.Alert] = r.Expr
		}
	}
	return all
}

// panels are the expressions of the dashboard by the titles of their panels.
func panels(t *testing.T) map[string][]string {
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct{ List []struct{ Definition string } }
	}
	if err := json.Unmarshal([]byte(read(t, monitoring+"dashboard.json")), &board); err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]string)
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			all[p.Title] = append(all[p.Title], target.Expr)
		}
	}
	for _, v := range board.Templating.List {
		all["variables"] = append(all["variables"], v.Definition)
	}
	return all
}

// TestMonitoringMetrics: each metric that an alert or the dashboard names is exported by a
// server. The server makes backups and has a certificate, since their metrics are not there
// without.
func TestMonitoringMetrics(t *testing.T) {
	exported := scrape(t)
	exported["up"] = true // of Prometheus itself
	check := func(where, expr string) {
		names := metricName.FindAllString(expr, -1)
		if len(names) == 0 {
			t.Errorf("%s names no metric: %s", where, expr)
		}
		for _, name := range names {
			if !exported[name] {
				t.Errorf("%s: no server exports %s", where, name)
			}
		}
	}
	for name, expr := range alertRules(t) {
		check(name, expr)
	}
	for title, exprs := range panels(t) {
		for _, expr := range exprs {
			if strings.HasPrefix(expr, "label_values") || title != "variables" {
				check(title, expr)
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
	all := panels(t)
	for _, title := range slices.Sorted(maps.Keys(all)) {
		for i, expr := range all[title] {
			if title == "variables" {
				continue
			}
			text, _ := json.Marshal(filled.Replace(expr))
			rules.WriteString("      - { record: 'panel:" + regexp.MustCompile(`\W+`).ReplaceAllString(title, "_") + string(rune('a'+i)) + "', expr: " + string(text) + " }\n")
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

// scrape runs a server and returns the names of the metrics that it exports.
func scrape(t *testing.T) map[string]bool {
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	c := exec.Command(program(t), "serve", "--port", "0", "--data", filepath.Join(dir, "data"),
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
			ask(t, base, cert) // so that a request is counted
		}
		if _, rest, ok := strings.Cut(lines.Text(), "operations"); ok {
			url, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
		}
	}
	go io.Copy(io.Discard, out)
	names := make(map[string]bool)
	for range 600 { // until the first backup is made
		r, err := http.Get(url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			if line := lines.Text(); !strings.HasPrefix(line, "#") {
				names[strings.FieldsFunc(line, func(c rune) bool { return c == '{' || c == ' ' })[0]] = true
			}
		}
		r.Body.Close()
		if names["dogwood_last_backup_timestamp_seconds"] {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return names
}

// ask sends a request to a server with a certificate.
func ask(t *testing.T, base, cert string) {
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}, DisableKeepAlives: true}}
	r, err := c.Get(base + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
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
