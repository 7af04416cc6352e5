package dogwood

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/sdk-go/internal/replica"
	"github.com/dogwooddb/dogwood/tree"
)

// A feed keeps what it has room for, and else the latest.
func TestFeed(t *testing.T) {
	large := strings.Repeat("x", maxFeedBytes/2)
	for _, c := range []struct {
		name   string
		states []string
		want   []string
	}{
		{"room", []string{"a", "b", "c"}, []string{"a", "b", "c"}},
		{"too many", []string{"a", "b", "c", "d"}, []string{"d"}},
		{"many more", []string{"a", "b", "c", "d", "e"}, []string{"d", "e"}},
		{"too large", []string{"a", large, large + "2"}, []string{large + "2"}},
		{"larger than all", []string{large + large}, []string{large + large}},
	} {
		f := newFeed(3)
		for _, s := range c.states {
			f.Changed(replica.State{Node: tree.String(s), Complete: true})
		}
		lost := errors.New("lost")
		f.Failed(lost)
		for i, want := range c.want {
			s, err := f.next(t.Context())
			if got, _ := s.Node.StringValue(); err != nil || got != want {
				t.Errorf("%s: state %d = %.10q, %v, want %.10q", c.name, i, got, err, want)
			}
		}
		if _, err := f.next(t.Context()); err != lost {
			t.Errorf("%s: err = %v", c.name, err)
		}
		if f.bytes != 0 {
			t.Errorf("%s: %d bytes are left", c.name, f.bytes)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := newFeed(3)
	f.Changed(replica.State{})
	if _, err := f.next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

// A feed looks at a large state when its turn comes: after the states before it, and not
// at all if there is a later one.
func TestFeedLooks(t *testing.T) {
	state := func(s string) replica.State { return replica.State{Node: tree.String(s), Complete: true} }
	f := newFeed(3)
	looks := 0
	f.look = func() replica.State {
		looks++
		return state("large")
	}
	f.Changed(state("a"))
	f.Stale()
	f.Stale()
	for _, want := range []string{"a", "large"} {
		s, err := f.next(t.Context())
		if got, _ := s.Node.StringValue(); err != nil || got != want {
			t.Errorf("state %q, %v, want %q", got, err, want)
		}
	}
	f.Stale()
	f.Changed(state("b"))
	s, err := f.next(t.Context())
	if got, _ := s.Node.StringValue(); err != nil || got != "b" || looks != 1 {
		t.Errorf("state %q, %v after %d looks, want b after 1", got, err, looks)
	}
	f.Stale()
	lost := errors.New("lost")
	f.Failed(lost)
	if _, err := f.next(t.Context()); err != lost || looks != 1 {
		t.Errorf("err = %v after %d looks", err, looks)
	}
}
