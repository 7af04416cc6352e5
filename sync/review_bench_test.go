package sync

import (
	"fmt"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// BenchmarkReviewBelow is a put above the data of many listens, on which their rules depend, and the
// decisions that follow it in slices.
func BenchmarkReviewBelow(b *testing.B) {
	many := tier.Pick(20_000, 20_000, 56_000)
	db := openTest(b, Options{Rules: parseRules(b, `{"rules":{"talk":{"$r":{"$m":{".read":"data.child('hidden').val() !== true && data.child('gone').val() !== true"}}}}}`)})
	for i := range many {
		listenAs(b, db, "", fmt.Sprintf("/talk/r/m%d", i))
	}
	var put, reviews time.Duration
	n := 0
	for b.Loop() {
		n++
		began := time.Now()
		set(b, db, "/talk/r", fmt.Sprintf(`{"x":%d}`, n))
		done := time.Now()
		allReviewed(b, db)
		put, reviews = put+done.Sub(began), reviews+time.Since(done)
	}
	b.ReportMetric(float64(put.Milliseconds())/float64(n), "ms/put")
	b.ReportMetric(float64(reviews.Milliseconds())/float64(n), "ms/reviews")
}
