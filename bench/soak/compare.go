package soak

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// compare waits for all followers to have everything and compares their views,
// and what was counted, with the database.
func (s *soak) compare(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, soakGrace)
	defer cancel()
	for _, f := range s.followers {
		if err := f.await(waiting); err != nil {
			s.Fault("%v", err)
		}
	}
	return errors.Join(s.compareViews(ctx), s.compareCounts(ctx))
}

// soakGrace is how long events for the slow follower and operations of disconnects may take
// when the load is over.
const soakGrace = 60 * time.Second

func (s *soak) compareViews(ctx context.Context) error {
	var lists map[string]map[string]json.RawMessage
	if err := s.Admin.GetJSON(ctx, "/"+listPath, &lists); err != nil {
		return err
	}
	for _, f := range s.followers {
		f.mu.Lock()
		if f.slow {
			s.Measure("whole views for the slow follower", float64(f.view.reloads), "")
			s.Measure("it was dropped", float64(s.dropped.Load()), "times")
		}
		for name, p := range f.view.streams {
			if err := p.differs(lastOf(lists[name], f.window)); err != nil {
				s.Fault("in the end, a follower of %s (window %d): %v", f.path(), f.window, err)
			}
		}
		f.mu.Unlock()
	}
	return nil
}

// lastOf returns the last n rows; all if n is 0.
func lastOf(rows map[string]json.RawMessage, n int) map[string]json.RawMessage {
	if n == 0 || n >= len(rows) {
		return rows
	}
	keys := slices.Sorted(maps.Keys(rows))
	window := make(map[string]json.RawMessage)
	for _, key := range keys[len(keys)-n:] {
		window[key] = rows[key]
	}
	return window
}

// compareCounts compares acknowledged increments with the stored counters.
func (s *soak) compareCounts(ctx context.Context) error {
	want := map[string]int64{etagPath: s.conditional.Load()}
	for _, c := range s.counters {
		want[c.path] = c.acked.Load()
	}
	for path, want := range want {
		var got int64
		if err := s.Admin.GetJSON(ctx, "/"+path, &got); err != nil {
			return err
		}
		if got != want {
			s.Fault("/%s is %d after %d acknowledged writes that add one", path, got, want)
		}
	}
	return nil
}

// compareLeft waits until the server has noticed that all clients have left, and
// compares how often it counted them with how often it promised to.
func (s *soak) compareLeft(ctx context.Context) error {
	want := make(map[string]int64)
	for _, f := range s.followers {
		if f.leaves != "" {
			want[strings.TrimPrefix(f.leaves, leftPath+"/")] = f.left
		}
	}
	var got map[string]int64
	err := eventually(ctx, func() (bool, error) {
		got = nil
		err := s.Admin.GetJSON(ctx, "/"+leftPath, &got)
		return maps.Equal(got, want), err
	})
	if err == nil && !maps.Equal(got, want) {
		s.Fault("disconnect operations were carried out %v times, want %v", got, want)
	}
	return err
}

// eventually asks until the answer is yes, soakGrace is over or ctx ends.
func eventually(ctx context.Context, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, soakGrace)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := ask(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
