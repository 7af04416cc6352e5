package space

import "errors"

// A Stat is what the system says about the file system of a directory.
type Stat struct {
	Free   int64  // bytes that this process may use
	Size   int64  // bytes in all
	Device uint64 // is the same for directories of one file system; always 0 on Windows
}

// errUnsupported is returned where the system has no call that is known here, or the file system
// has no size. Writes then go on without a bound, see Watch.
var errUnsupported = errors.New("this system does not say how much room there is")
