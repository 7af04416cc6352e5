package server

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Operators see which database a client asks for in vain, and a client that asks
// without end does not fill the disk.
func TestAbsentNamespaceIsLogged(t *testing.T) {
	var text bytes.Buffer
	s, err := New(Options{Namespaces: []string{"real"}, Log: slog.New(slog.NewTextHandler(&text, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if _, err := s.spaces.database(fmt.Sprintf("shop%d", i)); !errors.Is(err, errNoNamespace) {
			t.Fatalf("err = %v, want %v", err, errNoNamespace)
		}
	}
	if err := s.spaces.close(); err != nil { // which writes what is left
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if !strings.Contains(lines[0], `msg="no such database" namespace=shop0`) {
		t.Errorf("the log begins with %s", lines[0])
	}
	last := lines[len(lines)-1]
	if len(lines) > 500 || !strings.Contains(last, "not logged one by one") {
		t.Errorf("%d lines, the last %s", len(lines), last)
	}
}
