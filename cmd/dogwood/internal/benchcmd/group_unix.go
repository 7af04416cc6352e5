//go:build unix

package benchcmd

import "syscall"

// ownGroup keeps Ctrl-C, which a terminal sends to the whole group, from ending
// a spawned server while it is still measured.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
