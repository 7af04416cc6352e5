package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// pageServers are the servers that pages expect without starting one themselves.
var pageServers = map[string][]string{
	"docs/extensions.md": {"dev"},
	"docs/rest.md":       {"dev", "--sample", "chat"},
	"docs/rules.md":      {"dev", "--sample", "chat"},
	"docs/storage.md":    {"dev", "--sample", "chat"},
}

// TestPages follows the pages that no other test runs, as a reader would: in a folder for each
// page, block by block. docs/testing.md, Documentation, says how. Pages with JavaScript need
// the npm packages of testdata/e2e, so they are run by ./test.sh e2e, which sets
// DOGWOOD_NODE_PAGES; without it, the pages without JavaScript are run.
func TestPages(t *testing.T) {
	node := os.Getenv("DOGWOOD_NODE_PAGES") != ""
	for _, page := range documentPages(t) {
		blocks := blocksOf(t, page)
		if runElsewhere[page] != "" || !slices.ContainsFunc(blocks, block.runs) {
			continue
		}
		if javascript := slices.ContainsFunc(blocks, func(b block) bool { return b.language == "js" }); javascript != node {
			continue
		}
		t.Run(page, func(t *testing.T) {
			if page != "docs/rules.md" && page != "README.md" { // of those, also in quick runs
				tier.Need(t, tier.Full)
			}
			t.Parallel()
			if _, err := exec.LookPath("curl"); err != nil {
				t.Skip("there is no curl")
			}
			r := newPageRun(t, node)
			if args := pageServers[page]; args != nil {
				r.serve("dogwood " + strings.Join(args, " "))
			}
			for i, b := range blocks {
				r.follow(b, blocks[i+1:])
			}
		})
	}
}

// runs reports whether the block is one that TestPages runs.
func (b block) runs() bool { return b.language == "sh" && !strings.HasPrefix(b.words, "example:") }

// A pageRun follows one page.
type pageRun struct {
	t       *testing.T
	dir     string
	servers map[string]*serverProcess // by the port that the page says
	url     string                    // of the server that was started last
}

func newPageRun(t *testing.T, node bool) *pageRun {
	dir := t.TempDir()
	if node { // where Node finds the packages of testdata/e2e
		cache, err := filepath.Abs("../../testdata/e2e/.cache")
		if err == nil {
			err = os.MkdirAll(cache, 0o755)
		}
		if err == nil {
			dir, err = os.MkdirTemp(cache, "readme-")
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
	}
	return &pageRun{t: t, dir: dir, servers: map[string]*serverProcess{}}
}

// follow does with a block what a reader does: saves it as a file, or runs it and compares
// what it prints with the block right behind it.
func (r *pageRun) follow(b block, rest []block) {
	r.t.Helper()
	if strings.HasPrefix(b.words, "example:") {
		return
	}
	if name := b.file(); name != "" {
		file := filepath.Join(r.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(r.here(b.text)), 0o600); err != nil {
			r.t.Fatal(err)
		}
		return
	}
	if b.language != "sh" {
		return
	}
	words := strings.Fields(b.words)
	if slices.Contains(words, "stopped") {
		r.stop("")
	}
	if slices.Contains(words, "serve") {
		r.serve(b.text)
		return
	}
	var kind, want string
	if len(rest) > 0 && rest[0].follows && rest[0].file() == "" && (rest[0].language == "json" || rest[0].language == "text") {
		kind, want = rest[0].language, rest[0].text
	}
	compareOutput(r.t, fmt.Sprintf("%s:%d:\n%s", b.page, b.line, b.text), kind, r.run(b), want)
}

// run runs a block of commands and returns what it prints.
func (r *pageRun) run(b block) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "sh", "-ec", regexp.MustCompile(`\bcurl `).ReplaceAllString(r.here(b.text), "curl -sSg "))
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "DOGWOOD_URL="+r.url, "NO_COLOR=1")
	var problems strings.Builder
	cmd.Stderr = &problems
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%s:%d:\n%s%v\n%s%s", b.page, b.line, b.text, err, out, problems.String())
	}
	return string(out)
}

// here returns a text with the addresses of the servers that run, for those that the page says.
func (r *pageRun) here(text string) string {
	for port, s := range r.servers {
		host := strings.TrimPrefix(s.url, "http://")
		text = strings.ReplaceAll(text, "localhost:"+port, host)
		text = strings.ReplaceAll(text, "127.0.0.1:"+port, host)
	}
	return text
}

var portFlag = pattern(`(--port|-p)[ =](\d+)`)

// serve starts a server in the background, at a free port, and waits until it listens. One
// that the page has started before at the same port is stopped.
func (r *pageRun) serve(command string) {
	r.t.Helper()
	port := "9000"
	if m := portFlag().FindStringSubmatch(command); m != nil {
		port = m[2]
		command = portFlag().ReplaceAllString(command, "")
	}
	r.stop(port)
	// The folder of the page is no checkout.
	command = strings.Replace(command, "go run ./cmd/dogwood ", "dogwood ", 1)
	command = strings.TrimSuffix(strings.TrimSpace(command), "&") + " --port 0"
	cmd := exec.Command("sh", "-ec", "exec "+strings.ReplaceAll(command, "\\\n", " "))
	cmd.Dir = r.dir
	s := startListening(r.t, cmd)
	r.servers[port] = s
	r.url = s.url
}

// stop ends the server at a port, or all of them.
func (r *pageRun) stop(port string) {
	r.t.Helper()
	for p, s := range r.servers {
		if port != "" && p != port {
			continue
		}
		if err := s.stop(); err != nil {
			r.t.Errorf("the server at port %s ends with %v\n%s", p, err, &s.stderr)
		}
		delete(r.servers, p)
	}
}
