package packaging

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// needLong skips a test in the lower tiers.
func needLong(t *testing.T) {
	t.Helper()
	if os.Getenv("DOGWOOD_TIER") != "long" {
		t.Skip("only in tier long")
	}
}

// must runs a command in the repository and returns what it prints.
func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestRelease makes a snapshot of a release and tries each of its artefacts as a stranger
// would. DOGWOOD_DIST=kept takes the snapshot that is in dist already.
func TestRelease(t *testing.T) {
	needLong(t)
	must(t, "packaging/tool", "goreleaser", "check")
	if os.Getenv("DOGWOOD_DIST") != "kept" {
		must(t, "packaging/release.sh", "--snapshot")
	}
	var about struct{ Version string }
	if err := json.Unmarshal([]byte(read(t, "dist/metadata.json")), &about); err != nil {
		t.Fatal(err)
	}
	t.Run("checksums", func(t *testing.T) { testChecksums(t) })
	t.Run("programs", func(t *testing.T) { testPrograms(t, about.Version) })
	t.Run("archive", func(t *testing.T) { testArchive(t) })
	t.Run("deb", func(t *testing.T) { testDeb(t, about.Version) })
	t.Run("rpm", func(t *testing.T) { testRPM(t) })
	t.Run("image", func(t *testing.T) { testImage(t) })
	t.Run("formula", func(t *testing.T) { testFormula(t) })
	t.Run("npm", func(t *testing.T) { testNPM(t, about.Version) })
}

// dist returns the one file in dist with a name like that.
func dist(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "dist", pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("dist has %q for %s, %v", found, pattern, err)
	}
	path, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// testChecksums: every archive, package and bill of materials has its checksum.
func testChecksums(t *testing.T) {
	kinds := map[string]int{}
	for line := range strings.Lines(read(t, "dist/checksums.txt")) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		text := read(t, "dist/"+name)
		if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has another checksum", name)
		}
		kinds[filepath.Ext(name)]++
		if strings.HasSuffix(name, ".cdx.json") && !strings.Contains(text, "go.etcd.io/bbolt") {
			t.Errorf("%s does not name bbolt", name)
		}
	}
	for kind, want := range map[string]int{".gz": 4, ".zip": 2, ".deb": 2, ".rpm": 2, ".json": 6} {
		if kinds[kind] != want {
			t.Errorf("%d files %s, want %d", kinds[kind], kind, want)
		}
	}
}

// maxReleaseBytes bounds the program of a release for any system, with the documentation in it.
const maxReleaseBytes = maxProgramBytes + 3<<20

// testPrograms: the programs are small, need no library, and know what they are.
func testPrograms(t *testing.T, version string) {
	found, err := filepath.Glob(filepath.Join(root, "dist/dogwood_*/dogwood*"))
	if err != nil || len(found) != 6 {
		t.Fatalf("programs: %q, %v", found, err)
	}
	for _, path := range found {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s has %.1f MiB", path, float64(info.Size())/(1<<20))
		if info.Size() > maxReleaseBytes {
			t.Errorf("%s has %d bytes, at most %d", path, info.Size(), maxReleaseBytes)
		}
		if !strings.Contains(path, "linux") {
			continue
		}
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				t.Errorf("%s is not static", path)
			}
		}
		f.Close()
	}
	out := must(t, dist(t, "dogwood_linux_amd64*/dogwood"), "version")
	if want := "dogwood " + version + ", revision " + must(t, "git", "rev-parse", "HEAD")[:12] + " of 20"; !strings.HasPrefix(out, want) || !strings.Contains(out, " linux/amd64)") {
		t.Errorf("version is %q, want %q", out, want)
	}
}

// serveDemo starts a command that serves the sample chat, and looks at the demonstration.
func serveDemo(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	serve(t, cmd, map[string]string{"/demo/": "<title>", "/rooms/one/name.json": `"room alpha"`, "/readyz": "ok"})
}

// serve starts a server, wants what its paths have, and stops it.
func serve(t *testing.T, cmd *exec.Cmd, pages map[string]string) {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended: %v", err)
		}
	}()
	first := make([]byte, 200)
	n, err := stdout.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, stdout)
	m := regexp.MustCompile(`(?:Listening on|Documentation:) (http://\S+:)(\d+)`).FindStringSubmatch(string(first[:n]))
	if m == nil {
		t.Fatalf("the server prints %q", first[:n])
	}
	base := "http://localhost:" + m[2]
	for path, want := range pages {
		r, err := http.NewRequest("GET", base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer owner")
		c := http.Client{Timeout: time.Minute}
		resp, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s, %v, %q", path, resp.Status, err, body)
		}
	}
}

// serveACME has the program, which an artefact has, serve with a certificate from an ACME
// authority: a client that trusts the
// authority only gets answers over TLS. where says which
// program, as testdata/acme/serve_test.go reads it.
func serveACME(t *testing.T, where string) {
	t.Helper()
	must(t, "env", where, "go", "test", "-C", "testdata/acme", "-count=1", "-run", "^TestServe$", ".")
}

func testArchive(t *testing.T) {
	dir := t.TempDir()
	must(t, "tar", "-xzf", dist(t, "dogwood_*_linux_amd64.tar.gz"), "-C", dir)
	for _, name := range []string{"LICENSE", "THIRD_PARTY.txt", "README.md", "man/dogwood-serve.1.gz", "completions/_dogwood", "completions/dogwood.bash", "completions/dogwood.fish", "monitoring/alerts.yml", "monitoring/dashboard.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	cmd := exec.Command("./dogwood", "dev", "--port", "0", "--sample", "chat")
	cmd.Dir = dir
	serveDemo(t, cmd)
	serveACME(t, "DOGWOOD_BIN="+filepath.Join(dir, "dogwood"))
	serve(t, exec.Command(filepath.Join(dir, "dogwood"), "docs", "--port", "0"), map[string]string{"/": "<title>", "/limits": "<title>"})
}

// needRoot skips what only root can do.
func needRoot(t *testing.T, tools ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can do this")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
}

// testDeb installs the package on a copy of this system that systemd starts, and that is
// thrown away: testdata/deb.sh says what happens there.
func testDeb(t *testing.T, version string) {
	needRoot(t, "curl", "dpkg", "systemd-nspawn", "unshare")
	out := must(t, "unshare", "--mount", "--propagation", "private", "sh", "packaging/testdata/boot.sh", t.TempDir(),
		"packaging/testdata/deb.sh", dist(t, "dogwood_*_amd64.deb"), version)
	if !strings.HasSuffix(out, "\npassed\n") {
		t.Errorf("the test prints\n%s", out)
	}
	// Its program, on files of the package only.
	dir := t.TempDir()
	must(t, "dpkg", "-x", dist(t, "dogwood_*_amd64.deb"), dir)
	bin := filepath.Join(dir, "usr/bin/dogwood")
	cmd := exec.Command(bin, "dev", "--port", "0", "--sample", "chat")
	cmd.Dir = t.TempDir()
	serveDemo(t, cmd)
	serveACME(t, "DOGWOOD_BIN="+bin)
}

func testRPM(t *testing.T) {
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip(err)
	}
	list := must(t, "rpm", "-qlp", dist(t, "dogwood-*.x86_64.rpm"))
	for _, want := range []string{"/usr/bin/dogwood\n", "/usr/lib/systemd/system/dogwood.service\n", "/etc/dogwood/dogwood.env\n", "/usr/share/man/man1/dogwood.1.gz\n", "/usr/share/zsh/site-functions/_dogwood\n", "/usr/share/doc/dogwood/THIRD_PARTY.txt\n", "/usr/share/dogwood/monitoring/alerts.yml\n", "/usr/share/dogwood/monitoring/dashboard.json\n"} {
		if !strings.Contains(list, want) {
			t.Errorf("the package has no %s: %s", want, list)
		}
	}
	if config := must(t, "rpm", "-qcp", dist(t, "dogwood-*.x86_64.rpm")); config != "/etc/dogwood/dogwood.env\n" {
		t.Errorf("its configuration is %q", config)
	}
}

// testImage builds the image without a daemon, and runs its program on its file system only.
func testImage(t *testing.T) {
	needRoot(t, "buildah", "chroot")
	dir := t.TempDir()
	must(t, "mkdir", "-p", dir+"/context/packaging", dir+"/context/linux/amd64")
	must(t, "cp", "-R", "build", dir+"/context/")
	must(t, "cp", dist(t, "dogwood_linux_amd64*/dogwood"), dir+"/context/linux/amd64/")
	storage := []string{"--storage-driver", "vfs", "--root", dir + "/storage", "--runroot", dir + "/run"}
	buildah := func(args ...string) string {
		return must(t, "buildah", append(append([]string{}, storage...), args...)...)
	}
	buildah("bud", "--isolation", "chroot", "--format", "docker", "-t", "dogwood", "-f", "packaging/docker/Dockerfile.release", dir+"/context")
	container := strings.TrimSpace(buildah("from", "--pull-never", "dogwood"))
	rootfs := strings.TrimSpace(buildah("mount", container))
	defer buildah("umount", container)
	for _, want := range []string{`"65532:65532"`, `"DOGWOOD_HOST=0.0.0.0"`, `"/dogwood"`, `"health"`} {
		if config := buildah("inspect", container); !strings.Contains(strings.ReplaceAll(config, `\"`, `"`), want) {
			t.Errorf("the image has no %s", want)
		}
	}
	if names := must(t, "ls", rootfs); names != "data\ndogwood\netc\nlicenses\n" {
		t.Errorf("the image has %q", names)
	}
	if owner := must(t, "stat", "-c", "%u", rootfs+"/data"); owner != "65532\n" {
		t.Errorf("the data directory belongs to %s", owner)
	}
	// As the user of the image, on its files only.
	in := []string{"--userspec=65532:65532", rootfs, "/dogwood"}
	serveDemo(t, exec.Command("chroot", append(in, "dev", "--host", "0.0.0.0", "--allow-remote", "--port", "0", "--data", "/data", "--sample", "chat")...))
	serveACME(t, "DOGWOOD_ROOT="+rootfs)
	// The command of the image, on free ports.
	cmd := exec.Command("chroot", append(in, "serve", "--port", "0")...)
	cmd.Env = []string{"DOGWOOD_HOST=0.0.0.0", "DOGWOOD_DATA=/data", "TMPDIR=/data"}
	serve(t, cmd, map[string]string{"/readyz": "ok"})
	if sum := must(t, dist(t, "dogwood_linux_amd64*/dogwood"), "check", rootfs+"/data/chat.db"); !strings.HasSuffix(sum, "/data/chat.db: ok\n") {
		t.Errorf("check prints %q", sum)
	}
}

// testNPM installs the packages of the release into an empty directory, without the network.
func testNPM(t *testing.T, version string) {
	dir := t.TempDir()
	must(t, "npm", "install", "--prefix", dir, "--offline", "--no-audit", "--no-fund",
		dist(t, "npm/dogwood-"+version+".tgz"), dist(t, "npm/dogwood-dogwood-linux-x64-*.tgz"), dist(t, "npm/dogwood-client-*.tgz"))
	if found, err := filepath.Glob(filepath.Join(root, "dist/npm/*.tgz")); err != nil || len(found) != 8 {
		t.Errorf("packages: %q, %v", found, err)
	}
	npx := exec.Command("npx", "--no-install", "dogwood", "version")
	npx.Dir = dir
	if out, err := npx.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "dogwood "+version+", ") {
		t.Errorf("npx dogwood version: %v, %s", err, out)
	}
	// npx runs this program, and does not pass on a signal that is sent to npx alone.
	cmd := exec.Command("node_modules/.bin/dogwood", "dev", "--port", "0", "--sample", "chat")
	cmd.Dir = dir
	serveDemo(t, cmd)
	serveACME(t, "DOGWOOD_BIN="+filepath.Join(dir, "node_modules/.bin/dogwood"))
}

func testFormula(t *testing.T) {
	text := must(t, "packaging/homebrew.sh")
	if strings.Contains(text, "@") || strings.Count(text, "sha256 \"") != 4 {
		t.Errorf("the formula is not complete:\n%s", text)
	}
	if _, err := exec.LookPath("ruby"); err != nil {
		t.Log(err)
		return
	}
	file := filepath.Join(t.TempDir(), "dogwood.rb")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "ruby", "-c", file)
}

// TestChartIsRendered has helm itself check and render the chart, with all that it has
// and with nothing.
func TestChartIsRendered(t *testing.T) {
	needLong(t)
	must(t, "packaging/tool", "helm", "lint", "--strict", chart)
	plain := must(t, "packaging/tool", "helm", "template", "x", chart)
	full := must(t, "packaging/tool", "helm", "template", "x", chart, "--set", strings.Join([]string{
		"rules.rules.a=true", "ingress.enabled=true", "ingress.tlsSecret=t", "metrics.enabled=true", "metrics.serviceMonitor=true",
		"adminSecret=s", "tlsSecret=t", "trustedProxies[0]=10.0.0.0/8", "args[0]=--verbose", "persistence.storageClass=fast",
	}, ","))
	for _, kind := range []string{"StatefulSet", "Service"} {
		if strings.Count(plain, "\nkind: "+kind+"\n") != 1 {
			t.Errorf("the chart makes no %s", kind)
		}
	}
	for _, kind := range []string{"ConfigMap", "Ingress", "ServiceMonitor"} {
		if strings.Contains(plain, "\nkind: "+kind+"\n") || !strings.Contains(full, "\nkind: "+kind+"\n") {
			t.Errorf("the chart makes a %s without being asked, or none", kind)
		}
	}
	wantFlags(t, full)
	for _, wrong := range []string{"replicas=2", "service.port=x", "metrics.serviceMonitor=true"} {
		cmd := exec.Command("packaging/tool", "helm", "template", "x", chart, "--set", wrong)
		cmd.Dir = root
		if err := cmd.Run(); err == nil {
			t.Errorf("the chart takes %s", wrong)
		}
	}
}
