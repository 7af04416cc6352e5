//go:build unix

package servers

import (
	"os"
	"os/exec"
	"syscall"
)

// leadGroup gives a command a process group of its own, so that signals reach its children.
func leadGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup sends a signal to a command and, if it leads a group, to all of that.
func endGroup(cmd *exec.Cmd, leads bool, sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok && leads {
		_ = syscall.Kill(-cmd.Process.Pid, s) // it may have ended
		return
	}
	_ = cmd.Process.Signal(sig)
}
