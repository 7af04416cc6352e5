package ownerstorage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// ErrLeaseLost says that another lander took over while this one was stalled. The
// marks stay: the other lander saves the fields again, with a greater version.
var ErrLeaseLost = errors.New("the lease was lost to another lander")

// A HeldError says that another lander holds the lease of an application and a region.
type HeldError struct {
	Holder string    // the host and a random text
	Until  time.Time // by the server's clock; the holder renews it while it lands
}

// Error names the holder and the time.
func (e *HeldError) Error() string {
	return fmt.Sprintf("the lander %s holds the lease until %s", e.Holder, e.Until.UTC().Format(time.RFC3339))
}

const (
	leaseTime   = 30 * time.Second // after its last renewal
	maxSave     = 5 * time.Minute  // of one call of save; then the lease is not renewed any more
	releaseTime = 5 * time.Second  // to give up the lease after ctx has ended
)

// A lease is what landing/$app/$region holds. Its version grows whenever a lander
// takes it, and never else.
type lease struct {
	Holder  string            `json:"holder"`
	At      dogwood.Timestamp `json:"at"`
	For     int64             `json:"for"` // milliseconds; 0 if it was given up
	Version int64             `json:"version"`
}

func (l lease) until() time.Time { return l.At.Add(time.Duration(l.For) * time.Millisecond) }

// A hold is a lease that a lander has taken.
type hold struct {
	s       *Storage
	at      dogwood.Ref
	holder  string
	version int64
	saving  atomic.Int64 // when the present call of save began, in nanoseconds
	stop    func()       // ends the renewals
}

// takes is how often take tries. Between two tries the clock may pass the last version,
// or another lander may have taken the lease and given it up.
const takes = 3

// take takes the lease. The server decides whether it is free, by its own clock.
func (s *Storage) take(ctx context.Context) (*hold, error) {
	h := &hold{s: s, at: s.db.Ref("landing/" + s.at), holder: newHolder()}
	var err error
	for tries := range takes {
		err = h.takeNow(ctx)
		if errors.Is(err, dogwood.ErrPermissionDenied) {
			err = h.takeNext(ctx, tries == 0)
		}
		if !errors.Is(err, dogwood.ErrPermissionDenied) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("take the lease: %w", err)
	}
	// If the connection is lost before, the lease runs out by itself.
	_ = h.at.OnDisconnect().Set(ctx, h.value(h.version, 0))
	h.stop = h.renewing(ctx)
	return h, nil
}

// takeNow takes the lease with the server's time as the version, so that versions grow
// even if an administrator has removed the lease. The rules allow that if the clock is
// ahead of the last version.
func (h *hold) takeNow(ctx context.Context) error {
	told, err := h.at.SetReturning(ctx, h.value(dogwood.ServerTimestamp, leaseTime))
	h.version = int64(told["version"])
	if !errors.Is(err, dogwood.ErrNotReturned) {
		return err
	}
	now, err := dogwood.Get[lease](ctx, h.at)
	if err == nil && now.Holder != h.holder {
		err = ErrLeaseLost
	}
	h.version = now.Version
	return err
}

// takeNext takes the lease with the version after the last one. The rules allow that if
// the clock is not ahead of the last one. A lease that seems to be from the future is
// tried at first: the clock may have gone back, which only the server knows.
func (h *hold) takeNext(ctx context.Context, first bool) error {
	was, err := dogwood.Get[lease](ctx, h.at)
	if err != nil {
		return err
	}
	now := h.s.db.ServerTime()
	if was.For > 0 && now.Before(was.until()) && (!first || !was.At.After(now)) {
		return &HeldError{was.Holder, was.until()}
	}
	h.version = was.Version + 1
	return h.at.Set(ctx, h.value(h.version, leaseTime))
}

// newHolder returns a name that no other call of Land has.
func newHolder() string {
	host, _ := os.Hostname() // only for people
	return fmt.Sprintf("%.64s/%d/%s", host, os.Getpid(), rand.Text())
}

// value is the lease for some time from now on.
func (h *hold) value(version any, d time.Duration) map[string]any {
	return map[string]any{
		"holder": h.holder, "at": dogwood.ServerTimestamp, "for": d.Milliseconds(), "version": version,
	}
}

// renewing renews the lease until it is stopped or lost, or save takes too long.
func (h *hold) renewing(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	h.saving.Store(time.Now().UnixNano())
	go func() {
		defer close(done)
		for h.pause(ctx) {
			err := h.at.Set(ctx, h.value(h.version, leaseTime))
			if errors.Is(err, dogwood.ErrPermissionDenied) {
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// pause waits until the next renewal is due, and reports whether there is one.
func (h *hold) pause(ctx context.Context) bool {
	select {
	case <-time.After(leaseTime / 3):
	case <-ctx.Done():
		return false
	}
	return time.Since(time.Unix(0, h.saving.Load())) < maxSave
}

// held reports whether the lease is still that of this lander: no other has taken
// it since, though it may have run out.
func (h *hold) held(ctx context.Context) (bool, error) {
	now, err := dogwood.Get[lease](ctx, h.at)
	return now.Holder == h.holder && now.Version == h.version, err
}

// release gives up the lease, if it is still that of this lander. If that fails, it
// runs out.
func (h *hold) release(ctx context.Context) {
	if h.stop != nil {
		h.stop()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if h.at.Set(ctx, h.value(h.version, 0)) == nil {
		// Not before: what is registered may be another lander's on this connection.
		_ = h.at.OnDisconnect().Cancel(ctx)
	}
}

// A step is what a lander does for one row in the end, all or none of it.
type step struct {
	key string
	was any            // the mark that it read; nil if it takes none away
	set map[string]any // values by their paths
}

// maxSteps is how many steps one write makes.
const maxSteps = 500

// finish makes steps while the lease is that of this lander, which each write renews.
// It leaves out a step whose mark is not the one that was read.
func (h *hold) finish(ctx context.Context, steps []step) error {
	for part := range slices.Chunk(steps, maxSteps) {
		if err := h.finishPart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// finishPart is finish in one write if the rules allow it. If they do not, one of the
// marks has changed: halving finds it.
func (h *hold) finishPart(ctx context.Context, steps []step) error {
	renewed, taken := h.value(h.version, leaseTime), make(map[string]any)
	update := map[string]any{h.at.Path(): renewed}
	for _, s := range steps {
		maps.Copy(update, s.set)
		if s.was != nil {
			taken[s.key] = s.was
		}
	}
	renewed["taken"] = taken
	err := h.s.db.Update(ctx, update)
	if !errors.Is(err, dogwood.ErrPermissionDenied) {
		return err
	}
	if held, err := h.held(ctx); err != nil {
		return err
	} else if !held {
		return ErrLeaseLost
	}
	if len(steps) == 1 {
		return h.unchanged(ctx, steps[0], err)
	}
	half := len(steps) / 2
	return errors.Join(h.finishPart(ctx, steps[:half]), h.finishPart(ctx, steps[half:]))
}

// unchanged returns why a step was denied if its mark is still the one that was read.
func (h *hold) unchanged(ctx context.Context, s step, denied error) error {
	now, err := h.s.db.Ref("dirty/" + h.s.at).Child(s.key).Snapshot(ctx)
	if err != nil {
		return err
	}
	if s.was != nil && now.Value() != s.was {
		return nil
	}
	return denied
}
