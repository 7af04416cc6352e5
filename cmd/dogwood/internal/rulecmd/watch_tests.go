package rulecmd

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// watchPause is how often files are looked at for changes.
const watchPause = 250 * time.Millisecond

// watch runs the tests, and again whenever a file that they depend on changes,
// until the command is interrupted.
func (c *testCommand) watch(e *console.Env) error {
	tick := time.NewTicker(watchPause)
	defer tick.Stop()
	for {
		seen := c.stamps()
		if err := c.once(e); err != nil {
			e.Fail(err)
		}
		fmt.Fprintln(e.Stdout, "waiting for changes")
		for changed := false; !changed; {
			select {
			case <-e.Ctx.Done():
				return nil
			case <-tick.C:
				changed = !sameStamps(seen, c.stamps())
			}
		}
	}
}

// A stamp is what changes with a file's content. Time and size are enough here:
// a change that both miss is found by the next one, and nothing is lost.
type stamp struct {
	size     int64
	modified time.Time
}

// stamps returns the state of the test files, of all JSON files in their directories, which
// are most often their rules and data, and of the rules that they name.
func (c *testCommand) stamps() map[string]stamp {
	list := make(map[string]stamp)
	add := func(file string) {
		if info, err := os.Stat(file); err == nil {
			list[file] = stamp{info.Size(), info.ModTime()}
		}
	}
	if c.DataDocument != "" {
		add(c.DataDocument)
	}
	files, err := rulestest.Find(c.Paths...)
	if err != nil {
		return list
	}
	for _, file := range files {
		add(file)
		beside, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.json"))
		if err != nil {
			continue
		}
		for _, f := range beside {
			add(f)
		}
		if s, err := rulestest.Load(file); err == nil {
			add(s.Rules.File)
			add(s.Declared)
			for _, g := range s.Groups {
				add(g.DataFile)
			}
		}
	}
	return list
}

func sameStamps(a, b map[string]stamp) bool {
	if len(a) != len(b) {
		return false
	}
	for file, s := range a {
		t, ok := b[file]
		if !ok || s.size != t.size || !s.modified.Equal(t.modified) {
			return false
		}
	}
	return true
}
