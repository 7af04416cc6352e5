package tree

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestPushIDsAscend(t *testing.T) {
	var ids PushIDs
	now := time.UnixMilli(1700000000000)
	last := ""
	for _, step := range []time.Duration{0, 0, time.Millisecond, -time.Hour, 0, time.Microsecond, time.Hour, 24 * time.Hour} {
		now = now.Add(step)
		id := ids.Next(now)
		if id <= last || CompareKeys(id, last) <= 0 || !ValidKey(id) || len(id) != 20 {
			t.Errorf("Next(%v) = %s after %s", now, id, last)
		}
		last = id
	}
}

func TestPushIDsOverflow(t *testing.T) {
	ids := PushIDs{random: func(b []byte) {
		for i := range b {
			b[i] = 0xFF
		}
	}}
	now := time.UnixMilli(1)
	if got, want := ids.Next(now), "-------0zzzzzzzzzzzz"; got != want {
		t.Errorf("the first id is %s, want %s", got, want)
	}
	if got, want := ids.Next(now), "-------1------------"; got != want {
		t.Errorf("the next id is %s, want %s", got, want)
	}
	if got, want := ids.Next(time.UnixMilli(2)), "-------1-----------0"; got != want {
		t.Errorf("the id after that is %s, want %s", got, want)
	}
}

func TestPushIDsConcurrently(t *testing.T) {
	var ids PushIDs
	var wg sync.WaitGroup
	made := make([][]string, 8)
	for i := range made {
		wg.Go(func() {
			for range 200 {
				made[i] = append(made[i], ids.Next(time.UnixMilli(5)))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(made...)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 8*200 {
		t.Errorf("%d different ids, want %d", n, 8*200)
	}
}

func TestPushIDTime(t *testing.T) {
	for _, s := range []string{"", "-NjEtLV--012345678y", "-NjEtLV--012345678yz-", "-NjEtLV--01234567 yz", "-NjEtLV--012345678é", strings.Repeat("é", 10)} {
		if at, ok := pushIDTime(s); ok {
			t.Errorf("pushIDTime(%q) = %v", s, at)
		}
	}
}

// pushIDTime returns the time at which a push id was made. ok is false if s is
// no push id.
func pushIDTime(s string) (t time.Time, ok bool) {
	if len(s) != 20 {
		return time.Time{}, false
	}
	var ms int64
	for i := range s {
		c := strings.IndexByte(PushChars, s[i])
		if c < 0 {
			return time.Time{}, false
		}
		if i < 8 {
			ms = ms<<6 | int64(c)
		}
	}
	return time.UnixMilli(ms), true
}
