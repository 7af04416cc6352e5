//go:build linux || darwin || freebsd

package space

import (
	"math"

	"golang.org/x/sys/unix"
)

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

func bytesOf(blocks, size uint64) int64 {
	if size != 0 && blocks > math.MaxInt64/size {
		return math.MaxInt64
	}
	return int64(blocks * size)
}
