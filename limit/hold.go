package limit

// A Hold is what one user, such as a request, holds of a share. It is not safe for concurrent
// use. The zero Hold of a share holds nothing.
type Hold struct {
	Of *Share
	n  int64
}

// Size returns how much is held.
func (h *Hold) Size() int64 { return h.n }

// Grow makes h hold n more if there is room, as Try does. A hold that has something already
// gets in even while what is free is kept for a large wait: that wait may be for what h itself
// will give back, and neither of the two would get on.
func (h *Hold) Grow(n int64) error {
	if err := h.Of.take(n, h.n > 0); err != nil {
		return err
	}
	h.n += n
	return nil
}

// Missing returns how much more h needs to hold n, or the most that it can hold if that is
// less.
func (h *Hold) Missing(n int64) int64 { return max(min(n, h.Of.Most())-h.n, 0) }

// Take makes n that was acquired of the share part of h.
func (h *Hold) Take(n int64) { h.n += n }

// Settle makes h hold n, whether or not there is room.
func (h *Hold) Settle(n int64) {
	switch more := n - h.n; {
	case more > 0:
		h.Of.Force(more)
	case more < 0:
		h.Of.Release(-more)
	}
	h.n = n
}

// End gives back what is held.
func (h *Hold) End() {
	if h.n != 0 {
		h.Of.Release(h.n)
		h.n = 0
	}
}
