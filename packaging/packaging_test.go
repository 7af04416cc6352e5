// Package packaging checks what releases are made from, without making one. The tests that
// make one are in the long tier: see release_test.go.
package packaging

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const root = ".."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readYAML(t *testing.T, path string, v any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, path)), v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// isThere reports whether a file of the repository is there, or made by one of the scripts
// that write into build.
func isThere(t *testing.T, path string) bool {
	t.Helper()
	if strings.HasPrefix(path, "build/") {
		scripts := read(t, "packaging/manual.sh") + read(t, "packaging/image.sh")
		return strings.Contains(scripts, strings.Split(path, "/")[1])
	}
	found, err := filepath.Glob(filepath.Join(root, path))
	return err == nil && len(found) > 0
}

// program returns the binary under test.
func program(t *testing.T) string {
	t.Helper()
	if p := os.Getenv("DOGWOOD_BIN"); p != "" {
		return p
	}
	p := filepath.Join(t.TempDir(), "dogwood")
	if out, err := exec.Command("go", "build", "-C", root, "-o", p, "./cmd/dogwood").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return p
}

// TestReleaseNamesFiles: what .goreleaser.yaml puts into archives and packages exists.
func TestReleaseNamesFiles(t *testing.T) {
	var c struct {
		Builds []struct {
			Main         string
			Env          []string
			Ldflags      []string
			Goos, Goarch []string
		}
		Before   struct{ Hooks []string }
		Archives []struct{ Files []any }
		Nfpms    []struct {
			Formats  []string
			Contents []struct{ Src, Dst string }
			Scripts  map[string]string
		}
		DockersV2 []struct {
			Dockerfile string
			ExtraFiles []string `yaml:"extra_files"`
		} `yaml:"dockers_v2"`
	}
	readYAML(t, ".goreleaser.yaml", &c)
	if len(c.Builds) != 1 || len(c.Nfpms) != 1 || len(c.DockersV2) != 1 {
		t.Fatalf("%d builds, %d packages, %d images", len(c.Builds), len(c.Nfpms), len(c.DockersV2))
	}
	b, n, d := c.Builds[0], c.Nfpms[0], c.DockersV2[0]
	if !slices.Equal(b.Goos, []string{"linux", "darwin", "windows"}) || !slices.Equal(b.Goarch, []string{"amd64", "arm64"}) || !slices.Contains(b.Env, "CGO_ENABLED=0") {
		t.Errorf("builds are for %v on %v with %v", b.Goos, b.Goarch, b.Env)
	}
	variable := regexp.MustCompile(`-X (\S+)\.(\w+)=`)
	for _, m := range variable.FindAllStringSubmatch(strings.Join(b.Ldflags, " "), -1) {
		dir := strings.TrimPrefix(m[1], "github.com/dogwooddb/dogwood/")
		if !strings.Contains(read(t, dir+"/version.go"), "\nvar "+m[2]+" = ") {
			t.Errorf("the linker sets %s of %s, which has no such variable", m[2], dir)
		}
	}
	if !slices.Equal(n.Formats, []string{"deb", "rpm"}) {
		t.Errorf("packages are %v", n.Formats)
	}
	files := append([]string{b.Main, d.Dockerfile}, d.ExtraFiles...)
	for _, f := range n.Contents {
		files = append(files, f.Src)
	}
	for _, a := range c.Archives {
		for _, f := range a.Files {
			if file, ok := f.(map[string]any); ok {
				f = file["src"]
			}
			files = append(files, fmt.Sprint(f))
		}
	}
	for _, name := range []string{"alerts.yml", "dashboard.json"} {
		if got := count(files, "packaging/monitoring/"+name); got != 2 {
			t.Errorf("%s is in %d of: archives, packages", name, got)
		}
	}
	for _, f := range n.Scripts {
		files = append(files, f)
	}
	for _, hook := range c.Before.Hooks {
		if script, ok := strings.CutPrefix(hook, "sh "); ok {
			files = append(files, script)
		}
	}
	for _, f := range files {
		if !isThere(t, f) {
			t.Errorf(".goreleaser.yaml names %s, which is not there", f)
		}
	}
}

// maxProgramBytes bounds a stripped program: 20 MB, of 2^20 bytes each. The documentation that
// releases have in it comes on top of that, with at most 2 MB (internal/sitezip).
const maxProgramBytes = 20 << 20

// TestProgramSize: the program is small, as releases build it but for the documentation.
func TestProgramSize(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dogwood")
	cmd := exec.Command("go", "build", "-C", root, "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", file, "./cmd/dogwood")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	size := info.Size()
	if site, err := os.Stat(filepath.Join(root, "cmd/dogwood/internal/docsite/built/site.zip")); err == nil {
		size -= site.Size()
	}
	t.Logf("the program for Linux on amd64 has %.2f MiB", float64(size)/(1<<20))
	if size > maxProgramBytes {
		t.Errorf("the program for Linux on amd64 has %d bytes, at most %d: docs/releasing.md says what is in it", size, maxProgramBytes)
	}
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// TestScripts: the shell can read the scripts.
func TestScripts(t *testing.T) {
	found := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".sh" && path != "tool" {
			return err
		}
		found++
		if out, err := exec.Command("sh", "-n", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
		return nil
	})
	if err != nil || found < 8 {
		t.Errorf("%d scripts, %v", found, err)
	}
}

// settings returns the settings of a systemd unit, with all the values that each has.
func settings(unit string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(unit) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			all[name] = append(all[name], value)
		}
	}
	return all
}

// TestUnit: the unit is hardened, the program takes its command line, and systemd has
// nothing to say about it where it is there.
func TestUnit(t *testing.T) {
	unit := "packaging/systemd/dogwood.service"
	s := settings(read(t, unit))
	for name, want := range map[string]string{
		"DynamicUser": "yes", "StateDirectory": "dogwood", "LimitNOFILE": "1048576", "ProtectSystem": "strict",
		"NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "EnvironmentFile": "-/etc/dogwood/dogwood.env",
		"ExecStart": "/usr/bin/dogwood serve --data /var/lib/dogwood",
	} {
		if !slices.Equal(s[name], []string{want}) {
			t.Errorf("%s is %q, want %q", name, s[name], want)
		}
	}
	wantVariables(t, "packaging/systemd/dogwood.env", read(t, "packaging/systemd/dogwood.env"))
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("there is no systemd-analyze")
		return
	}
	// It looks for the program of the unit.
	dir := t.TempDir()
	text := strings.ReplaceAll(read(t, unit), "/usr/bin/dogwood", program(t))
	file := filepath.Join(dir, "dogwood.service")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), "dogwood.service") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	// 0 is the least exposure, 10 the most.
	const threshold = "20" // tenths
	if out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold="+threshold, file).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

// serveHelp returns what "dogwood serve --help" prints.
func serveHelp(t *testing.T) string {
	t.Helper()
	help, err := exec.Command(program(t), "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(help)
}

var variable = regexp.MustCompile(`\bDOGWOOD_[A-Z_]+\b`)

// wantVariables: the variables of a file stand for flags of "dogwood serve".
func wantVariables(t *testing.T, file, text string) {
	t.Helper()
	known := variable.FindAllString(serveHelp(t), -1)
	for _, name := range variable.FindAllString(text, -1) {
		if !slices.Contains(known, name) && name != "DOGWOOD_VERSION" {
			t.Errorf("%s: no flag of serve has the variable %s", file, name)
		}
	}
}

// TestImage: what the image is made of exists, both ways to make it end in the same one, and
// it can be asked whether it works.
func TestImage(t *testing.T) {
	last := map[string][]string{}
	for _, name := range []string{"Dockerfile", "Dockerfile.release"} {
		text := read(t, "packaging/docker/"+name)
		wantVariables(t, name, text)
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			switch {
			case len(f) == 0 || strings.HasPrefix(line, "#"):
				continue
			case f[0] == "FROM":
				last[name] = nil
			case f[0] == "COPY":
				f = slices.DeleteFunc(f, func(s string) bool { return strings.HasPrefix(s, "--chown") })
				if !strings.HasPrefix(f[1], "--from=") && !strings.HasPrefix(f[1], "$TARGETPLATFORM") && f[1] != "." && !isThere(t, strings.TrimSuffix(f[1], "/")) {
					t.Errorf("%s copies %s, which is not there", name, f[1])
				}
				continue
			case f[0] == "ARG":
				continue
			}
			last[name] = append(last[name], line)
		}
	}
	if a, b := last["Dockerfile"], last["Dockerfile.release"]; !slices.Equal(a, b) {
		t.Errorf("the images differ:\n%q\n%q", a, b)
	}
	text := strings.Join(last["Dockerfile"], "")
	for _, want := range []string{"USER 65532:65532\n", `CMD ["/dogwood", "health"]` + "\n", `ENTRYPOINT ["/dogwood"]` + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the image has no %q", want)
		}
	}
	for _, line := range strings.Fields(read(t, ".dockerignore")) {
		if line == "packaging" || line == "demo" || line == "**/dist" {
			t.Errorf("the image needs %s, which .dockerignore leaves out", line)
		}
	}
}

// TestCompose: the files and the variables that the Compose file names exist, and Caddy asks
// the service that there is.
func TestCompose(t *testing.T) {
	var c struct {
		Services map[string]struct {
			Volumes     []string
			Environment map[string]string
			DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		}
		Volumes map[string]any
	}
	readYAML(t, "packaging/compose/compose.yaml", &c)
	wantVariables(t, "compose.yaml", read(t, "packaging/compose/compose.yaml"))
	for name, s := range c.Services {
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			_, named := c.Volumes[from]
			if !named && !isThere(t, filepath.Join("packaging/compose", from)) {
				t.Errorf("%s mounts %s, which is not there", name, from)
			}
		}
	}
	if c.Services["caddy"].DependsOn["dogwood"].Condition != "service_healthy" || !strings.Contains(read(t, "packaging/compose/Caddyfile"), "reverse_proxy dogwood:9000 ") {
		t.Error("Caddy does not wait for the service dogwood, or asks another one")
	}
	out, err := exec.Command(program(t), "rules", "check", filepath.Join(root, "packaging/compose/rules/database.rules.json")).CombinedOutput()
	if err != nil {
		t.Errorf("rules check: %v\n%s", err, out)
	}
}

// TestNPMPackage: the package says what npm shows.
func TestNPMPackage(t *testing.T) {
	var p struct {
		License, Repository any
		Keywords            []string
		Bin                 map[string]string
		Scripts             map[string]string
	}
	if err := json.Unmarshal([]byte(read(t, "packaging/npm/dogwood/package.json")), &p); err != nil {
		t.Fatal(err)
	}
	if p.License != "Apache-2.0" || p.Repository == nil || len(p.Keywords) == 0 || !isThere(t, "packaging/npm/dogwood/"+p.Bin["dogwood"]) {
		t.Errorf("the package says %+v", p)
	}
	if len(p.Scripts) > 0 {
		t.Errorf("the package runs %v when it is installed", p.Scripts)
	}
}
