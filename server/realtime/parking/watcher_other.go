//go:build !linux

package parking

import "syscall"

// Possible is whether a Watcher works on this system.
const Possible = false

// A Watcher does nothing: each socket has a goroutine.
type Watcher struct{}

// Watch returns false.
func (*Watcher) Watch(Socket, syscall.RawConn, *int32) bool { return false }

// Unwatch does nothing.
func (*Watcher) Unwatch(syscall.RawConn, *int32) {}

// Forget does nothing.
func (*Watcher) Forget(*int32) {}

// Close does nothing.
func (*Watcher) Close() {}
