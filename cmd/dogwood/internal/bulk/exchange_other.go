//go:build !linux

package bulk

import (
	"errors"
	"os"
)

// exchange fails: not every system can swap two names.
func exchange(_, b string) error {
	if _, err := os.Stat(b); err != nil {
		return err
	}
	return errors.ErrUnsupported
}
