// Package leaktest fails tests that leave goroutines behind.
//
// It is goleak with more patience: goleak gives goroutines that are about to end half a
// second, which is too little on a busy machine.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end.
const patience = time.Minute

// Main runs the tests of a package and exits. It is called by TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := leaks(patience); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Verify fails a test if goroutines are left.
func Verify(t testing.TB, options ...goleak.Option) {
	t.Helper()
	if err := leaks(patience, options...); err != nil {
		t.Error(err)
	}
}

func leaks(wait time.Duration, options ...goleak.Option) error {
	for end := time.Now().Add(wait); ; {
		if err := goleak.Find(options...); err == nil || time.Now().After(end) {
			return err
		}
	}
}
