//go:build unix && !solaris && !aix

package dirlock

import (
	"errors"
	"os"
	"syscall"
)

func tryLock(f *os.File, sole bool) error {
	how := syscall.LOCK_SH
	if sole {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return errHeld
		}
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
