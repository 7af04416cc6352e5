package bookmark

import (
	"errors"
	"strings"
	"testing"
)

func TestSealer(t *testing.T) {
	s := New()
	for _, key := range []string{"", "a", "-K123", strings.Repeat("ü", 384), "a\x00\x01\x00"} {
		text := s.Seal("/rooms", key)
		if got, err := s.Open("/rooms", text); got != key || err != nil {
			t.Errorf("%q: %q, %v", key, got, err)
		}
		if len(key) > 4 && strings.Contains(text, key) {
			t.Errorf("%q is in %q", key, text)
		}
		for name, open := range map[string]func() (string, error){
			"another listing": func() (string, error) { return s.Open("/room", text) },
			"another sealer":  func() (string, error) { return New().Open("/rooms", text) },
			"cut":             func() (string, error) { return s.Open("/rooms", text[:len(text)-2]) },
			"changed":         func() (string, error) { return s.Open("/rooms", "AA"+text[2:]) },
		} {
			if got, err := open(); !errors.Is(err, ErrUnknown) && !strings.HasPrefix(text, "AA") {
				t.Errorf("%q, %s: %q, %v", key, name, got, err)
			}
		}
	}
	if a, b := s.Seal("/rooms", "a"), s.Seal("/rooms", "another"); len(a) != len(b) || a == s.Seal("/rooms", "a") {
		t.Error("texts tell of keys")
	}
	for _, text := range []string{"", "a", "%", strings.Repeat("A", 40), strings.Repeat("A", 4000)} {
		if _, err := s.Open("/rooms", text); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
