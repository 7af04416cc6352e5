package dedup

import "slices"

// A run is a range of numbers, both ends included.
type run struct{ from, to uint64 }

// runs are ascending and do not touch. What is in none of them was refused, or
// is older than what is kept. A number that fell out at the lower end and is
// sent again would be carried out again. For that a client would have to repeat
// a write after it has left more than maxRuns gaps behind it.
type runs []run

func (r runs) valid() bool {
	end := uint64(0)
	for i, x := range r {
		if x.from <= end || i > 0 && x.from == end+1 || x.to < x.from || x.to > MaxNumber {
			return false
		}
		end = x.to
	}
	return len(r) > 0 && len(r) <= maxRuns
}

// find returns the run that has n, or where one would have to be.
func (r runs) find(n uint64) (at int, ok bool) {
	return slices.BinarySearchFunc(r, n, func(x run, n uint64) int {
		switch {
		case x.to < n:
			return -1
		case x.from > n:
			return 1
		}
		return 0
	})
}

func (r runs) has(n uint64) bool {
	_, ok := r.find(n)
	return ok
}

// add returns r with n. If there are too many runs then, it drops the one with
// the lowest numbers: its client has heard of those for the longest.
func (r runs) add(n uint64) runs {
	at, ok := r.find(n)
	if ok {
		return r
	}
	joinsLeft := at > 0 && r[at-1].to+1 == n
	joinsRight := at < len(r) && r[at].from == n+1
	switch {
	case joinsLeft && joinsRight:
		r[at-1].to = r[at].to
		return slices.Delete(r, at, at+1)
	case joinsLeft:
		r[at-1].to = n
	case joinsRight:
		r[at].from = n
	default:
		r = slices.Insert(r, at, run{n, n})
	}
	if len(r) > maxRuns {
		r = slices.Delete(r, 0, 1)
	}
	return r
}
