package space

import "errors"

// A Stat is what the system says about the file system of a directory.
type Stat struct {
	Free   int64 // that this process may use
	Size   int64
	Device uint64 // is the same for directories of one file system
}

// errUnsupported is returned where the system has no call that is known here.
var errUnsupported = errors.New("this system does not say how much room there is")
