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

// TestWrongNamespaceSaysWhy: the error is what clients compare; the detail says which database
// is missing, or which names databases have.
func TestWrongNamespaceSaysWhy(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"real", "other"}})
	for _, c := range []struct {
		query        string
		status       int
		text, detail string
	}{
		{"", 404, textNotFound, "the request names no database, and the server has no default; choose one with ?ns=NAME"},
		{"?ns=demo", 404, textNotFound, `there is no database "demo" on this server; choose another with ?ns=NAME`},
		{"?ns=a_b", 400, "Invalid namespace", `"a_b" is not the name of a database, which has at most 63 small letters, digits and hyphens, and no hyphen first`},
	} {
		ts.want("GET", "/.json"+c.query, "", c.status, detailedBody(c.text, c.detail))
	}
}
