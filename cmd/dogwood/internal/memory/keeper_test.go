package memory

import (
	"slices"
	"testing"
)

// How much is collected depends on the load. When the load is over, memory is given back
// once.
func TestMemoryKeeper(t *testing.T) {
	var percents []int
	var now heap
	released := 0
	k := &keeper{
		measure: func() heap { return now },
		collect: func(p int) { percents = append(percents, p) },
		release: func() { released++ },
	}
	for i, step := range []struct {
		allocated, live uint64
		percents        []int
		released        int
	}{
		{0, 5 << 20, nil, 0},                                // it never was busy
		{100 << 20, 5 << 20, []int{400}, 0},                 // load
		{busyBytes, 64 << 20, []int{400, 200}, 0},           // of a larger heap
		{busyBytes - 1, 64 << 20, []int{400, 200}, 0},       // neither load nor quiet
		{quietBytes, 64 << 20, []int{400, 200}, 0},          // quiet
		{quietBytes, 64 << 20, []int{400, 200}, 0},          //
		{quietBytes + 1, 64 << 20, []int{400, 200}, 0},      // but not for long
		{0, 64 << 20, []int{400, 200}, 0},                   //
		{0, 64 << 20, []int{400, 200}, 0},                   //
		{0, 64 << 20, []int{400, 200, 100}, 1},              // the load is over
		{0, 64 << 20, []int{400, 200, 100}, 1},              // and stays so
		{0, 64 << 20, []int{400, 200, 100}, 1},              //
		{0, 64 << 20, []int{400, 200, 100}, 1},              //
		{1 << 30, 6400 << 20, []int{400, 200, 100, 101}, 1}, // a large heap takes what it always did
	} {
		now = heap{now.allocated + step.allocated, step.live, 1}
		k.step()
		if !slices.Equal(percents, step.percents) || released != step.released {
			t.Fatalf("step %d: percentages %v, released %d times; want %v, %d", i, percents, released, step.percents, step.released)
		}
	}
}

// A trickle of requests does not keep what load has left.
func TestMemoryKeeperInATrickle(t *testing.T) {
	var now heap
	released := 0
	k := &keeper{measure: func() heap { return now }, collect: func(int) {}, release: func() { released++ }}
	step := func(allocated uint64) {
		now.allocated += allocated
		k.step()
	}
	step(busyBytes)
	for range calmTicks - 1 {
		step(busyBytes - 1)
	}
	if released != 0 {
		t.Fatal("memory is given back too early")
	}
	for range 3 * calmTicks {
		step(busyBytes - 1)
	}
	if released != 1 {
		t.Errorf("memory was given back %d times, want once", released)
	}
}

// When many goroutines have ended, their stacks are given back, once.
func TestMemoryKeeperOfStacks(t *testing.T) {
	var now heap
	released := 0
	k := &keeper{measure: func() heap { return now }, collect: func(int) {}, release: func() { released++ }}
	for i, step := range []struct {
		goroutines uint64
		released   int
	}{
		{10_000, 0},
		{10_000 - many + 1, 0}, {9_900, 0}, {9_900, 0}, {9_900, 0}, // too few
		{5_000, 0}, {100, 0}, {100, 1},
		{100, 1}, {100, 1}, {100, 1},
		{100 + many, 1}, {100, 1}, {100, 1}, {100, 2},
	} {
		now.goroutines = step.goroutines
		if k.step(); released != step.released {
			t.Fatalf("step %d: released %d times, want %d", i, released, step.released)
		}
	}
}

// While many goroutines begin, garbage is collected as usual.
func TestMemoryKeeperOfConnections(t *testing.T) {
	now := heap{live: 5 << 20}
	var percents []int
	k := &keeper{measure: func() heap { return now }, collect: func(p int) { percents = append(percents, p) }, release: func() {}}
	for _, began := range []uint64{0, 100, 5000, 5000, 0, many + 1, many} {
		now.allocated += 100 << 20
		now.goroutines += began
		k.step()
	}
	if want := []int{400, 100, 400, 100, 400}; !slices.Equal(percents, want) {
		t.Errorf("percentages %v, want %v", percents, want)
	}
}

func TestMeasureHeap(t *testing.T) {
	before := measureHeap()
	kept := make([]byte, 10<<20)
	after := measureHeap()
	if grown := after.allocated - before.allocated; grown < uint64(len(kept)) {
		t.Errorf("an allocation of 10 MiB counts %d bytes", grown)
	}
}
