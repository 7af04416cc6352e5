//go:build !unix

package benchcmd

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }
