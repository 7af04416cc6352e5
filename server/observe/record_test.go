package observe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// A recording has a size, and what is too large for it is left out and counted.
func TestRecordIsBounded(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "decisions.jsonl")
	rec, err := OpenRecorder(file)
	if err != nil {
		t.Fatal(err)
	}
	rec.max = 10_000
	q := &rules.Request{Op: rules.OpWrite, Now: time.UnixMilli(1)}
	write := func(size int) {
		q.Writes = []tree.ResolvedWrite{{Target: tree.Target{Path: tree.MustParsePath("/a")}, Node: tree.String(strings.Repeat("x", size))}}
		rec.add("shop", q, rules.Decision{})
	}
	write(maxRecorded + 1)
	for range 1000 {
		write(100)
	}
	err = rec.Close()
	if err == nil || !strings.HasSuffix(err.Error(), ": 1 decisions were left out") {
		t.Errorf("Close() = %v", err)
	}
	for _, name := range []string{file, file + ".1"} {
		text, err := os.ReadFile(name)
		if err != nil || len(text) == 0 || len(text) > 10_000 {
			t.Errorf("%s has %d bytes, %v", name, len(text), err)
		}
		for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s has the line %s", name, line)
			}
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("there are %v, %v", list, err)
	}
}
