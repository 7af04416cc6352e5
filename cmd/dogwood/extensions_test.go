package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/server/servertest"
)

// TestExtensions runs docs/extensions.md.
func TestExtensions(t *testing.T) {
	runPage(t, "../../docs/extensions.md", servertest.New(t, servertest.Options{}).Host)
}

// TestReferences runs the references, each against a server of its own with the sample that
// they name.
func TestReferences(t *testing.T) {
	for _, page := range []string{"rest.md", "rules.md", "storage.md"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			s := startListening(t, exec.Command("dogwood", "dev", "--port", "0", "--sample", "chat"))
			runPage(t, "../../docs/"+page, strings.TrimPrefix(s.url, "http://"))
		})
	}
}

// runPage runs the shell blocks of a page as they stand, but for the port, in order,
// against one server. A block of JSON or text right behind one is what it prints; of
// JSON the revisions may be others.
func runPage(t *testing.T, page, host string) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```\n(?:\n```(json|text)\n(.*?)```)?").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 2 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, b := range blocks {
		command := strings.ReplaceAll(strings.ReplaceAll(b[1], "localhost:9000", host), "curl ", "curl -sSg ")
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", command)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", b[1], err, out)
		}
		compareOutput(t, b[1], b[2], string(out), b[3])
	}
}

// compareOutput compares what a block of a page prints with what the page says.
func compareOutput(t *testing.T, block, kind, got, want string) {
	t.Helper()
	same := true
	switch kind {
	case "json":
		same = reflect.DeepEqual(withoutRevisions(t, got), withoutRevisions(t, want))
	case "text":
		same = strings.TrimSpace(got) == strings.TrimSpace(want)
	default:
		if strings.Contains(got, `"error"`) {
			t.Errorf("%sprints\n%s", block, got)
		}
	}
	if !same {
		t.Errorf("%sprints\n%s\nthe page says\n%s", block, got, want)
	}
}

// withoutRevisions parses JSON and makes all members "revision" that are numbers 0.
func withoutRevisions(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	clearRevisions(v)
	return v
}

func clearRevisions(v any) {
	switch v := v.(type) {
	case []any:
		for _, child := range v {
			clearRevisions(child)
		}
	case map[string]any:
		if _, ok := v["revision"].(float64); ok {
			v["revision"] = 0.0
		}
		for _, child := range v {
			clearRevisions(child)
		}
	}
}
