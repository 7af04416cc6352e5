//go:build !linux && !darwin

package disktest

import "testing"

// Fill has all writes of this process to files fail for want of room. It cannot do so
// here and skips the test.
func Fill(t testing.TB) (empty func()) {
	t.Helper()
	t.Skip("the size of files cannot be limited here")
	return nil
}
