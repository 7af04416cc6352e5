//go:build !linux

package kv

// ReleasePages does nothing here: the system takes back pages of files as it likes.
func (t *FileTx) ReleasePages() {}
