// Package processors says how many processors long work may keep busy, and keeps more for what
// waits for the network.
package processors

import (
	"os"
	"runtime"
	"sync/atomic"
)

// added is how many processors more than it has the process may be told to use: one for the
// poller of the network, and one for the garbage collector, which is at work for much of the time
// while clients write and read megabytes, and keeps a processor to itself.
const added = 2

// spare is added while the runtime uses that many processors more than the process has, or 0.
var spare atomic.Int32

// Count returns how many processors the process has: GOMAXPROCS without spare ones.
func Count() int { return runtime.GOMAXPROCS(0) - int(spare.Load()) }

// AddSpare has the runtime use two processors more than the process has. The returned function
// undoes that. The environment variable GOMAXPROCS turns it off.
//
// While all processors of the runtime are busy, it looks for input from the network every 10 ms
// only. On two processors, one that parses a long text and one that commits let each step of a
// small request wait for that. With spare ones, a thread sleeps in the poller, and the system's
// scheduler, which favors threads that have slept, runs it as soon as there is input.
//
// To yield now and then in long loops does not help: the runtime takes up what yielded before it
// asks the poller. The runtime no longer follows a change of the processors that a container may
// use: the server has to be started again.
func AddSpare() (remove func()) {
	if os.Getenv("GOMAXPROCS") != "" || !spare.CompareAndSwap(0, added) {
		return func() {}
	}
	n := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(n + added)
	return func() {
		spare.Store(0)
		runtime.SetDefaultGOMAXPROCS()
	}
}
