package space

import (
	"math"

	"golang.org/x/sys/windows"
)

// stat has no device: a log on a disk of its own is taken to be on that of the data, and is not
// looked at. GetDiskFreeSpaceEx returns what this user may use, with quotas.
func stat(dir string) (s Stat, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return s, err
	}
	var free, size, all uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, &size, &all); err != nil {
		return s, err
	}
	return Stat{Free: int64(min(free, math.MaxInt64)), Size: int64(min(size, math.MaxInt64))}, nil
}
