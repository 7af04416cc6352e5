package server

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func newTest(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestNamespaceOf(t *testing.T) {
	s := newTest(t, Options{DefaultNamespace: "main"})
	for _, c := range []struct{ host, query, want string }{
		{"localhost:9000", "", "main"},
		{"127.0.0.1:9000", "", "main"},
		{"10.0.2.2", "", "main"},
		{"[::1]:9000", "", "main"},
		{"[::1]", "", "main"},
		{"", "", "main"},
		{"dogwood:9000", "", "main"},
		{"example.org", "", "main"},
		{"foo.localhost:9000", "", "foo"},
		{"Foo.LocalHost.", "", "foo"},
		{"foo.firebaseio.com", "", "foo"},
		{"foo.europe-west1.firebasedatabase.app", "", "foo"},
		{"foo.localhost", "ns=bar", "bar"},
		{"foo.localhost", "ns=", "foo"},
		{"localhost", "print=pretty&ns=Bar", "bar"},
		{"localhost", "ns=one&ns=two", "one"},
	} {
		r := httptest.NewRequest("GET", "/a.json?"+c.query, nil)
		r.Host = c.host
		if got, err := s.spaces.resolve(parseParams(r.URL.RawQuery), r.Host); got != c.want || err != nil {
			t.Errorf("host %q, query %q: namespace %q, %v, want %q", c.host, c.query, got, err, c.want)
		}
	}
	for _, bad := range []string{"a_b", "-a", "a.b", "a%2Fb", "..", strings.Repeat("a", 64), "%C3%BC", "a%00"} {
		r := httptest.NewRequest("GET", "/a.json?ns="+bad, nil)
		if got, err := s.spaces.resolve(parseParams(r.URL.RawQuery), r.Host); !errors.Is(err, errBadNamespace) {
			t.Errorf("ns=%s: namespace %q, %v, want %v", bad, got, err, errBadNamespace)
		}
	}
}

func TestDefaultNamespace(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
		err  error
	}{
		{"none", Options{}, "", errNoNamespace},
		{"only one", Options{Namespaces: []string{"shop"}}, "shop", nil},
		{"two", Options{Namespaces: []string{"shop", "blog"}}, "", errNoNamespace},
		{"configured", Options{Namespaces: []string{"shop", "blog"}, DefaultNamespace: "blog"}, "blog", nil},
		{"dev", Options{Dev: true}, emulatorNamespace, nil},
	} {
		if got, err := newTest(t, c.o).spaces.fallback(); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: default is %q, %v, want %q, %v", c.name, got, err, c.want, c.err)
		}
	}
}

func TestNamespacesThatExist(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"blog.db", "notes.txt", "My Notes.db"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newTest(t, Options{Dir: dir, Namespaces: []string{"shop"}, Deactivated: []string{"old"}})
	if got, want := s.spaces.names(), []string{"blog", "old", "shop"}; !slices.Equal(got, want) {
		t.Errorf("namespaces are %q, want %q", got, want)
	}
	for name, want := range map[string]error{"other": errNoNamespace, "old": errDeactivated, "../shop": errBadNamespace} {
		if _, err := s.spaces.database(name); !errors.Is(err, want) {
			t.Errorf("database %q: %v, want %v", name, err, want)
		}
	}
}

func TestDevMakesNamespacesUpToALimit(t *testing.T) {
	s := newTest(t, Options{Dev: true, Limits: Limits{MaxNamespaces: 2}})
	for name, want := range map[string]error{"a": nil, "b": nil} {
		if _, err := s.spaces.find(name); !errors.Is(err, want) {
			t.Errorf("find(%s): %v, want %v", name, err, want)
		}
	}
	if _, err := s.spaces.find("c"); !errors.Is(err, errTooManyNamespaces) {
		t.Errorf("the third namespace: %v, want %v", err, errTooManyNamespaces)
	}
}

func TestBadNamesAreRefusedAtTheStart(t *testing.T) {
	if _, err := New(Options{Namespaces: []string{"My Shop"}}); !errors.Is(err, errBadNamespace) {
		t.Errorf("New: %v, want %v", err, errBadNamespace)
	}
}
