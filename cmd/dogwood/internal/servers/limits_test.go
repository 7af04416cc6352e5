package servers

import (
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/dogwooddb/dogwood/server"
)

// parseLimits reads limit flags.
func parseLimits(t *testing.T, args ...string) (*limitFlags, error) {
	t.Helper()
	var f limitFlags
	parser, err := kong.New(&f)
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(args)
	return &f, err
}

// Every flag of a limit is in docs/limits.md, with its default.
func TestLimitFlagsAreDocumented(t *testing.T) {
	docs, err := os.ReadFile("../../../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	parser, err := kong.New(&limitFlags{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, flag := range parser.Model.Flags {
		if flag.Name == "help" {
			continue
		}
		seen++
		row := fmt.Sprintf("| `--%s` | %s |", flag.Name, strings.ReplaceAll(flag.Default, ",", ", "))
		if flag.Default == "" {
			row = fmt.Sprintf("| `--%s` | |", flag.Name)
		}
		if !strings.Contains(string(docs), row) {
			t.Errorf("docs/limits.md lacks %q", row)
		}
	}
	if want := reflect.TypeFor[limitFlags]().NumField(); seen != want {
		t.Errorf("%d flags were looked for, want %d", seen, want)
	}
}

// Without flags, the limits are those that a server has by itself.
func TestLimitFlags(t *testing.T) {
	f, err := parseLimits(t)
	if err != nil {
		t.Fatal(err)
	}
	l, err := f.limits()
	if err != nil || !slices.Equal(l.PerAddress.Exempt, server.Loopback()) {
		t.Errorf("%v is exempt (%v), want %v", l.PerAddress.Exempt, err, server.Loopback())
	}
	want := server.DefaultLimits()
	auto := &want.PerAddress // the server derives them from the memory
	auto.Connections, auto.Polls, auto.BodyBytes, auto.Listens, auto.PendingBytes = 0, 0, 0, 0, 0
	l.PerAddress.Exempt, l.PerAddress.TrustedProxies = want.PerAddress.Exempt, want.PerAddress.TrustedProxies
	if !reflect.DeepEqual(l.PerAddress, want.PerAddress) || l.MaxPathWindows != want.MaxPathWindows || l.MessageRate != want.MessageRate || l.MessageBurst != want.MessageBurst {
		t.Errorf("the flags say %+v, and the server %+v", l, want)
	}

	f, err = parseLimits(t, "--exempt=none", "--trusted-proxy=10.1.2.3/8,fd00::1", "--address-mib=-1", "--address-polls=-1", "--path-windows=1000000")
	if err != nil {
		t.Fatal(err)
	}
	l, err = f.limits()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::1/128")}
	if a := l.PerAddress; err != nil || a.Exempt == nil || len(a.Exempt) != 0 || !slices.Equal(a.TrustedProxies, proxies) || a.BodyBytes != -1 || a.Polls != -1 || l.MaxPathWindows != 1_000_000 {
		t.Errorf("limits() = %+v, %v", l, err)
	}

	for _, args := range [][]string{{"--address-polls=0"}, {"--connection-burst=-2"}, {"--path-windows=-1"}, {"--path-windows=1000001"}, {"--proxy-header=X-Real-Ip"}} {
		if _, err := parseLimits(t, args...); err == nil {
			t.Errorf("%s is accepted", args)
		}
	}
	for _, args := range [][]string{{"--exempt=localhost"}, {"--trusted-proxy=10.0.0.0/99"}} {
		f, err := parseLimits(t, args...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.limits(); err == nil || !strings.Contains(err.Error(), "such as 10.0.0.0/8") {
			t.Errorf("%s: %v", args, err)
		}
	}
}
