package space

import (
	"math"

	"golang.org/x/sys/windows"
)

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
