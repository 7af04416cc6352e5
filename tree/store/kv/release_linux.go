package kv

import "syscall"

// ReleasePages has the pages of the file that were read no longer count as memory of the
// process, as they do once they were touched. The next read of one takes it from the system's
// cache, where it still is, at the cost of a fault. It is for walks over much of a large file.
func (t *FileTx) ReleasePages() {
	_ = syscall.Madvise(t.pages.mem, syscall.MADV_DONTNEED) // on an error they count for longer
}
