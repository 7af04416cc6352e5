//go:build linux || darwin || freebsd

package space

import (
	"math"

	"golang.org/x/sys/unix"
)

// stat asks with two calls: statfs has no number of the device that is the same on all systems.
// Bavail is negative on some of them when only root has room.
func stat(dir string) (s Stat, err error) {
	var fs unix.Statfs_t
	var file unix.Stat_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return s, err
	}
	if err := unix.Stat(dir, &file); err != nil {
		return s, err
	}
	if fs.Blocks == 0 {
		return s, errUnsupported // a file system without a size, as in some containers
	}
	return Stat{Free: bytesOf(uint64(max(int64(fs.Bavail), 0)), uint64(fs.Bsize)), Size: bytesOf(uint64(fs.Blocks), uint64(fs.Bsize)), Device: uint64(file.Dev)}, nil
}

// bytesOf multiplies. A file system may claim more than an int64 holds; the largest one
// stands for that.
func bytesOf(blocks, size uint64) int64 {
	if size != 0 && blocks > math.MaxInt64/size {
		return math.MaxInt64
	}
	return int64(blocks * size)
}
