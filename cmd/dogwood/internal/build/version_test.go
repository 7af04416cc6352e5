package build

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestRevision(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	setting := func(key, value string) debug.BuildSetting {
		return debug.BuildSetting{Key: key, Value: value}
	}
	for _, test := range []struct {
		settings []debug.BuildSetting
		want     string
	}{
		{nil, ""},
		{[]debug.BuildSetting{setting("GOOS", "linux")}, ""},
		{[]debug.BuildSetting{setting("vcs.revision", commit)}, "0123456789ab"},
		{[]debug.BuildSetting{
			setting("vcs.revision", commit), setting("vcs.time", "2026-11-20T10:00:00Z"), setting("vcs.modified", "false"),
		}, "0123456789ab of 2026-11-20T10:00:00Z"},
		{[]debug.BuildSetting{
			setting("vcs.revision", commit), setting("vcs.time", "2026-11-20T10:00:00Z"), setting("vcs.modified", "true"),
		}, "0123456789ab+dirty of 2026-11-20T10:00:00Z"},
		{[]debug.BuildSetting{setting("vcs.revision", "42")}, "42"},
	} {
		if got := revisionOf(test.settings).String(); got != test.want {
			t.Errorf("revision of %v: %q, want %q", test.settings, got, test.want)
		}
	}
}

func TestDescribeBuild(t *testing.T) {
	for _, test := range []struct {
		module   string
		settings []debug.BuildSetting
		want     string
	}{
		{"(devel)", nil, "dogwood dev, built from a checkout, revision unknown: go run and -buildvcs=false do not record it, go build and make do (go1.26 SYSTEM)"},
		{"", nil, "dogwood dev, built from a checkout, revision unknown: go run and -buildvcs=false do not record it, go build and make do (go1.26 SYSTEM)"},
		{"v1.2.3", nil, "dogwood dev, module v1.2.3 (go1.26 SYSTEM)"},
		{"(devel)", []debug.BuildSetting{{Key: "vcs.revision", Value: "42"}}, "dogwood dev, revision 42 (go1.26 SYSTEM)"},
		{"v0.0.0-20261120100000-0123456789ab", []debug.BuildSetting{{Key: "vcs.revision", Value: "42"}}, "dogwood dev, revision 42 (go1.26 SYSTEM)"},
	} {
		info := &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: test.module}, Settings: test.settings}
		if got := strings.Replace(describeBuild(info), runtime.GOOS+"/"+runtime.GOARCH, "SYSTEM", 1); got != test.want {
			t.Errorf("module %s, %v: %q, want %q", test.module, test.settings, got, test.want)
		}
	}
}

// TestLinkedRevision: what Go recorded is believed before what the linker was told.
func TestLinkedRevision(t *testing.T) {
	defer func(before string) { linked = before }(linked)
	linked = "0123456789abcdef0123456789abcdef01234567,2026-11-20T10:00:00Z"
	if got, want := revisionOf(nil).String(), "0123456789ab of 2026-11-20T10:00:00Z"; got != want {
		t.Errorf("revision %q, want %q", got, want)
	}
	if got := revisionOf([]debug.BuildSetting{{Key: "vcs.revision", Value: "42"}}).String(); got != "42" {
		t.Errorf("revision %q, want 42", got)
	}
	linked = "42"
	if got := revisionOf(nil).String(); got != "42" {
		t.Errorf("revision without a time %q, want 42", got)
	}
}
