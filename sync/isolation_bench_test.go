package sync

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/sync/quota"
)

// An attack is what the sessions of one address send again and again.
type attack struct {
	name     string
	rules    string
	sessions int
	flood    int // requests before it waits for the answers
	request  func(session, round int) string
}

func manyValues(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%07d":%d`, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

func attacks() []attack {
	large, wide := manyValues(1<<20), manyValues(200_000)
	middle := manyValues(2000)
	put := func(value string) func(int, int) string {
		return func(s, round int) string {
			return fmt.Sprintf(`{"r":1,"a":"p","b":{"p":"/a/s%d","d":%s}}`, s, value)
		}
	}
	validated := `{"rules":{".read":true,".write":true,"a":{"$s":{"$k":{".validate":"newData.isNumber() && root.child('a/x/' + $k).exists() == false"}}}}}`
	return []attack{
		{name: "nothing", sessions: 0},
		{name: "put-1M-values", sessions: 2, flood: 1, request: put(large)},
		{name: "put-1M-validated", rules: validated, sessions: 2, flood: 1, request: put(large)},
		{name: "put-2000-values", sessions: 2, flood: 16, request: put(middle)},
		{name: "update-200k-paths", sessions: 2, flood: 1, request: func(s, round int) string {
			return fmt.Sprintf(`{"r":1,"a":"m","b":{"p":"/a/s%d","d":%s}}`, s, wide)
		}},
		{name: "flood-10k-small", sessions: 10, flood: 1000, request: func(s, round int) string {
			return fmt.Sprintf(`{"r":1,"a":"p","b":{"p":"/a/s%d/k%d","d":%d}}`, s, round%5000, round)
		}},
		{name: "delete-200k-values", sessions: 2, flood: 1, request: func(s, round int) string {
			if round%2 == 0 {
				return put(wide)(s, round)
			}
			return fmt.Sprintf(`{"r":1,"a":"p","b":{"p":"/a/s%d","d":null}}`, s)
		}},
	}
}

// BenchmarkBystander is how long the small writes of one address take while another
// one attacks.
func BenchmarkBystander(b *testing.B) {
	const each = 10 * time.Second
	for _, a := range attacks() {
		b.Run(a.name, func(b *testing.B) {
			o := Options{File: filepath.Join(b.TempDir(), "db")}
			if a.rules != "" {
				o.Rules = parseRules(b, a.rules)
			}
			db := openTest(b, o)
			db.batchTime = minBatchTime
			ctx, stop := context.WithTimeout(b.Context(), each)
			defer stop()
			attackers, bystander := quota.New(quota.Limits{}), quota.New(quota.Limits{})
			var all sync.WaitGroup
			for s := range a.sessions {
				c := connect(b, db, fmt.Sprint("attacker", s), 0)
				c.session.quota = attackers
				all.Go(func() {
					for round := 0; ctx.Err() == nil; round++ {
						c.send(a.request(s, round))
						if round%a.flood == a.flood-1 {
							c.settle()
							c.frames()
						}
					}
					c.settle()
				})
			}
			c := connect(b, db, "bystander", 0)
			c.session.quota = bystander
			var took []time.Duration
			for i := 0; ctx.Err() == nil; i++ {
				time.Sleep(10 * time.Millisecond)
				began := time.Now()
				c.send(fmt.Sprintf(`{"r":1,"a":"p","b":{"p":"/b/k%d","d":%d}}`, i%100, i))
				c.settle()
				took = append(took, time.Since(began))
				c.frames()
			}
			all.Wait()
			slices.Sort(took)
			ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
			b.ReportMetric(float64(len(took)), "writes")
			b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
			b.ReportMetric(ms(took[len(took)*99/100]), "p99-ms")
			b.ReportMetric(ms(took[len(took)-1]), "max-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}
