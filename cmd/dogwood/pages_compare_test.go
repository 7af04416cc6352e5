package main

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// compareOutput compares what a block of a page prints with what the page says.
func compareOutput(t *testing.T, block, kind, got, want string) {
	t.Helper()
	same := true
	switch kind {
	case "json":
		same = reflect.DeepEqual(withoutRevisions(t, got), withoutRevisions(t, want))
	case "text":
		same = alike(strings.TrimSpace(got), strings.TrimSpace(want))
	default:
		if strings.Contains(got, `"error"`) {
			t.Errorf("%sprints\n%s", block, got)
		}
	}
	if !same {
		t.Errorf("%sprints\n%s\nthe page says\n%s", block, got, want)
	}
}

// alike compares a text with one in which … stands for anything.
func alike(got, want string) bool {
	parts := strings.Split(want, "…")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".*?") + "$").MatchString(got)
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
