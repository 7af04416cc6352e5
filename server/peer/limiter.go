package peer

import (
	"time"

	"golang.org/x/time/rate"
)

// Charge takes from a limiter what was done already, and so cannot wait: at most all
// that it lets through at once.
func Charge(l *rate.Limiter, n int) {
	if n = min(n, l.Burst()); n > 0 {
		l.ReserveN(time.Now(), n)
	}
}

// NewLimiter returns a limiter of so many events per second after a burst, one that
// limits nothing if there is no bound.
func NewLimiter(perSecond, burst int) *rate.Limiter {
	if perSecond < 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	if burst < 0 {
		burst = perSecond
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(burst, 1))
}
