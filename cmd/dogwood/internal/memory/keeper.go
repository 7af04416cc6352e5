// Package memory decides how much memory the program plans with, and how often Go collects
// garbage.
package memory

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A keeper trades memory for processor time while there is much to do, and
// gives the memory back when that is over. Databases are on disk, so a busy server
// makes much garbage and has a small heap. With the settings of Go itself it would
// collect many times per second (docs/performance.md).
//
// The environment variable GOGC turns it off. The soft limit of memory (limit.go) holds,
// too: Go collects sooner than a percentage says where that would exceed it.
type keeper struct {
	measure func() heap
	collect func(percent int) // sets how much garbage is collected at a time
	release func()            // collects now, and returns memory to the system

	last    heap
	most    uint64 // goroutines at a tick since memory was given back
	percent int    // that was set
	busy    bool   // it is for load
	calm    int    // ticks in a row without load
	quiet   int    // of these, ticks in a row with nearly nothing
}

// A heap is what is known of a process.
type heap struct {
	allocated  uint64 // bytes, since the start
	live       uint64 // bytes, after the last collection
	goroutines uint64
}

const (
	memoryTick = time.Second

	busyBytes  = 8 << 20 // allocated in a tick: from here on there is load
	quietBytes = 1 << 20 // and up to here there is nearly nothing
	quietTicks = 3       // with nearly nothing, after which memory is given back
	calmTicks  = 10      // without load, after which it is given back anyway

	// many is a number of goroutines. When so many have ended, as those of sockets that are
	// parked, memory is given back as after load: their stacks are kept until the next
	// collection, which may be minutes ahead. While so many begin in a tick, as when all
	// clients connect again, garbage is collected as Go does it: what stays of connections
	// would otherwise lie scattered among garbage, and the memory between could not be given
	// back.
	many = 256

	defaultPercent = 100
	busyPercent    = 400
	busyGarbage    = 64 << 20 // beyond what a percentage of 100 would leave
)

// Keep begins to keep memory. It ends with the returned function.
func Keep() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &keeper{measure: measureHeap, collect: func(p int) { debug.SetGCPercent(p) }, release: releaseMemory}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (k *keeper) run(ctx context.Context) {
	tick := time.NewTicker(memoryTick)
	defer tick.Stop()
	k.last = k.measure()
	for {
		select {
		case <-tick.C:
			k.step()
		case <-ctx.Done():
			k.collect(defaultPercent)
			return
		}
	}
}

// step is what is done at a tick.
func (k *keeper) step() {
	now := k.measure()
	allocated := now.allocated - k.last.allocated
	began := now.goroutines > k.last.goroutines+many
	k.last, k.most = now, max(k.most, now.goroutines)
	if k.most-now.goroutines >= many {
		k.busy = true
	}
	switch {
	case allocated >= busyBytes:
		k.busy, k.calm, k.quiet = true, 0, 0
		if began {
			k.set(defaultPercent)
		} else {
			k.set(percentFor(now.live))
		}
		return
	case !k.busy:
		return
	case allocated > quietBytes:
		k.quiet = 0
	default:
		k.quiet++
	}
	if k.calm++; k.quiet == quietTicks || k.calm == calmTicks {
		k.busy, k.calm, k.quiet = false, 0, 0
		k.most = now.goroutines
		k.set(defaultPercent)
		k.release()
	}
}

// set is collect for a percentage that may be the same as before: to set it stops
// the program for a moment.
func (k *keeper) set(percent int) {
	if percent != k.percent {
		k.percent = percent
		k.collect(percent)
	}
}

// percentFor returns the percentage for load: garbage is at most busyGarbage more
// than is usual for so much that lives, so what a large heap takes grows little.
func percentFor(live uint64) int {
	return int(min(busyPercent, defaultPercent+100*busyGarbage/max(live, 1)))
}

// releaseMemory collects twice, since a collection halves stacks that became too
// large, and returns what is free to the system.
func releaseMemory() {
	runtime.GC()
	debug.FreeOSMemory()
}

func measureHeap() heap {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/sched/goroutines:goroutines"}}
	metrics.Read(samples)
	return heap{samples[0].Value.Uint64(), samples[1].Value.Uint64(), samples[2].Value.Uint64()}
}
