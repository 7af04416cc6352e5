package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/server"
)

// TestExtensions runs the shell blocks of docs/extensions.md as they stand, but for
// the port, in order, against one server. A block of JSON or text right behind one
// is what it prints; of JSON the revisions may be others.
func TestExtensions(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	page, err := os.ReadFile("../../docs/extensions.md")
	if err != nil {
		t.Fatal(err)
	}
	host := serveDev(t)
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```\n(?:\n```(json|text)\n(.*?)```)?").FindAllStringSubmatch(string(page), -1)
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
		switch got := string(out); b[2] {
		case "json":
			if !reflect.DeepEqual(withoutRevisions(t, got), withoutRevisions(t, b[3])) {
				t.Errorf("%sprints\n%s\nthe page says\n%s", b[1], got, b[3])
			}
		case "text":
			if strings.TrimSpace(got) != strings.TrimSpace(b[3]) {
				t.Errorf("%sprints\n%s\nthe page says\n%s", b[1], got, b[3])
			}
		default:
			if strings.Contains(got, `"error"`) {
				t.Errorf("%sprints\n%s", b[1], got)
			}
		}
	}
}

// serveDev serves as `dogwood dev` does and returns the address.
func serveDev(t *testing.T) string {
	t.Helper()
	s, err := server.New(server.Options{Dev: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr().String()
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
