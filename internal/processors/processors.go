// Package processors says how many processors long work may keep busy, and keeps one more for
// what waits for the network.
package processors

import (
	"os"
	"runtime"
	"sync/atomic"
)

// spare is 1 while the runtime uses one processor more than the process has.
var spare atomic.Int32

// Count returns how many processors the process has: GOMAXPROCS without a spare one.
func Count() int { return runtime.GOMAXPROCS(0) - int(spare.Load()) }

// AddSpare has the runtime use one processor more than the process has. The returned function
// undoes that. The environment variable GOMAXPROCS turns it off.
//
// While all processors of the runtime are busy, it looks for input from the network every 10 ms
// only. On two processors, one that parses a long text and one that commits let each step of a
// small request wait for that. With a spare one, a thread sleeps in the poller, and the system's
// scheduler, which favors threads that have slept, runs it as soon as there is input.
//
// To yield now and then in long loops does not help: the runtime takes up what yielded before it
// asks the poller. The runtime no longer follows a change of the processors that a container may
// use: the server has to be started again.
func AddSpare() (remove func()) {
	if os.Getenv("GOMAXPROCS") != "" || !spare.CompareAndSwap(0, 1) {
		return func() {}
	}
	n := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(n + 1)
	return func() {
		spare.Store(0)
		runtime.SetDefaultGOMAXPROCS()
	}
}
