package sync

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// Texts of a listen are up to as long as a message. Those that would take many times as much
// memory when they are parsed are not: no memory is taken for that.

// TestCompoundHashIsBounded: a listen with a compound hash of too many ranges, or a too long one,
// is sent the whole view.
func TestCompoundHashIsBounded(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{Rules: rules.Open()})
	set(t, db, "/l", `{"a":1}`)
	c := connect(t, db, "a", 1<<20)
	for _, test := range []struct {
		ranges int
		path   string
		want   string
	}{
		{tree.MaxPosts, "%06d", "rm"},
		{tree.MaxPosts + 1, "%06d", "d"},
		{1000, strings.Repeat("x", 3000) + "%06d", "d"},
	} {
		posts := make([]string, test.ranges)
		for i := range posts {
			posts[i] = fmt.Sprintf(`"`+test.path+`"`, i)
		}
		hashes := strings.Repeat(`"x",`, test.ranges) + `"x"`
		c.send(fmt.Sprintf(`{"r":1,"a":"q","b":{"p":"/l","h":"x","ch":{"ps":[%s],"hs":[%s]}}}`, strings.Join(posts, ","), hashes))
		if got := c.frames(); len(got) != 2 || !strings.HasPrefix(got[0], `{"a":"`+test.want+`"`) {
			t.Errorf("%d ranges: %.100s, want %s", test.ranges, got, test.want)
		}
	}
}

// TestListenIsParsedInLittleMemory: what a listen is refused for, or what is ignored, takes no
// more memory than the text itself a few times.
func TestListenIsParsedInLittleMemory(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{Rules: rules.Open()})
	const count = 1 << 19
	many := strings.TrimSuffix(strings.Repeat("0,", count), ",")
	for name, b := range map[string]string{
		"compound hash": `{"p":"/l","h":"x","ch":{"ps":[` + many + `],"hs":[` + many + `,0]}}`,
		"bound":         `{"p":"/l","h":"","q":{"i":"a","sp":[` + many + `]}}`,
		"other bound":   `{"p":"/l","h":"","q":{"i":"a","ep":{` + strings.TrimSuffix(strings.Repeat(`"a":0,`, count), ",") + `}}}`,
	} {
		c := connect(t, db, name, 1<<20)
		request := `{"r":1,"a":"q","b":` + b + `}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.send(request)
		c.frames()
		runtime.ReadMemStats(&after)
		if taken, most := after.TotalAlloc-before.TotalAlloc, uint64(4*len(request)); taken > most {
			t.Errorf("%s: %d bytes take %d, want at most %d", name, len(request), taken, most)
		}
	}
}
