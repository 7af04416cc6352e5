package wal

import (
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree/store/internal/disk"
)

// A namelessDisk gives no file the name of a segment while it is stuck.
type namelessDisk struct {
	disk.Disk
	stuck bool
}

func (d *namelessDisk) Rename(from, to string) error {
	if d.stuck && strings.HasSuffix(to, segmentSuffix) {
		return errIO
	}
	return d.Disk.Rename(from, to)
}

// TestBeginLeavesNoFile: tries to begin a segment that fail leave no files that take room.
func TestBeginLeavesNoFile(t *testing.T) {
	d := &namelessDisk{Disk: newMemDisk(1), stuck: true}
	l, err := OpenOn(d, Options{SegmentBytes: firstSegment})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 5 {
		if _, err := l.Append(Record{Database: 1, Kind: FirstKind}); err == nil {
			t.Error("a record was written without a segment")
		}
	}
	names, err := d.List()
	if slices.ContainsFunc(names, func(name string) bool { return name != controlFile }) || err != nil {
		t.Errorf("there is %v, %v; want the control file alone", names, err)
	}
	d.stuck = false
	if _, err := l.Append(Record{Database: 1, Kind: FirstKind}); err != nil {
		t.Error(err)
	}
}
