//go:build !unix

package servers

import (
	"os"
	"os/exec"
)

func leadGroup(*exec.Cmd) {}

// endGroup ends a command: there are no signals to be sent.
func endGroup(cmd *exec.Cmd, _ bool, _ os.Signal) { _ = cmd.Process.Kill() }
