package main

import (
	"runtime/debug"
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
