package leaktest

import "testing"

func TestLeaks(t *testing.T) {
	if err := leaks(patience); err != nil {
		t.Fatal(err)
	}
	hold, held := make(chan struct{}), make(chan struct{})
	go func() {
		close(held)
		<-hold
	}()
	<-held
	if err := leaks(0); err == nil {
		t.Error("a goroutine that waits is no leak")
	}
	close(hold)
	Verify(t)
}
