package rulesmutate

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// A Fate is what became of a mutant.
type Fate string

// The fates.
const (
	Killed    Fate = "killed"    // a test failed
	Survived  Fate = "survived"  // none did
	Explained Fate = "explained" // none did, and the test files say why
)

// A Result is what became of one mutant.
type Result struct {
	*Mutant
	Fate Fate
	By   string // the test that killed it, or the explanation
}

// A Report is what became of all mutants.
type Report struct {
	Results []Result                  // in the order of the mutants
	Stale   []rulestest.IgnoredMutant // explanations that fit no survivor
}

// Count returns how many mutants met a fate.
func (r *Report) Count(f Fate) int {
	n := 0
	for _, res := range r.Results {
		if res.Fate == f {
			n++
		}
	}
	return n
}

// KillRate returns the percentage of killed mutants among those that are not
// explained, 100 if there are none.
func (r *Report) KillRate() float64 {
	killed, survived := r.Count(Killed), r.Count(Survived)
	if killed+survived == 0 {
		return 100
	}
	return 100 * float64(killed) / float64(killed+survived)
}

// Run runs the suites with each mutant of the rules. Without a mistake all their tests must pass.
// progress is called after each mutant, by one goroutine at a time; it may be nil. The error is
// one of the rules, of a test that fails without a mistake, or of ctx: then there is no report,
// not even of some mutants.
func Run(ctx context.Context, src *rulestest.Source, suites []*rulestest.Suite, progress func(done, all int)) (*Report, error) {
	mutants, err := Mutants(src)
	if err != nil {
		return nil, err
	}
	return try(ctx, src, suites, mutants, progress)
}

// try runs the suites with each of some mutants of the rules.
func try(ctx context.Context, src *rulestest.Source, suites []*rulestest.Suite, mutants []*Mutant, progress func(done, all int)) (*Report, error) {
	units, err := divide(ctx, src, suites)
	if err != nil {
		return nil, err
	}
	rep := &Report{Results: make([]Result, len(mutants))}
	if err := runAll(ctx, src, units, mutants, rep.Results, progress); err != nil {
		return nil, err
	}
	rep.explain(suites)
	return rep, nil
}

// runAll runs the mutants, as many at a time as there are processors. Mutants
// are independent and suites are not changed by running, so all processors are
// used. After an error the goroutines still take what is sent, so that the loop below
// cannot block. Each result belongs to the goroutine that has its index.
func runAll(ctx context.Context, src *rulestest.Source, units []unit, mutants []*Mutant, results []Result, progress func(done, all int)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex // guards done and calls of progress
		done int
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				by, err := kill(ctx, src, mutants[i], units)
				if err != nil {
					cancel(err)
					continue
				}
				results[i] = Result{mutants[i], Survived, by}
				if by != "" {
					results[i].Fate = Killed
				}
				mu.Lock()
				done++
				if progress != nil {
					progress(done, len(mutants))
				}
				mu.Unlock()
			}
		})
	}
	for i := range mutants {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// kill runs the tests that ask the rule of a mutant and returns the first that
// fails. It stops at the first failure: that a mutant is noticed is all that is
// asked.
func kill(ctx context.Context, src *rulestest.Source, m *Mutant, units []unit) (string, error) {
	rs, err := m.compile(src)
	if err != nil {
		return "", err
	}
	runner := &rulestest.Runner{VerdictsOnly: true, FirstFailure: true}
	for _, u := range units {
		if !u.asks[m.Rule.Path] {
			continue
		}
		results, err := runner.Run(ctx, u.suite, rs, nil)
		if err != nil {
			return "", err
		}
		if failed := firstFailure(results); failed != "" {
			return failed, nil
		}
	}
	return "", nil
}

// firstFailure returns the place and name of the first step that failed, "" if none did.
func firstFailure(results []*rulestest.Result) string {
	for _, r := range results {
		if r.Status == rulestest.Failed {
			return r.Where() + " " + r.Name()
		}
	}
	return ""
}

// explain marks the survivors that the test files explain. A mutant that is killed needs no
// explanation: one that fits only such mutants is stale, and would hide a survivor later.
func (r *Report) explain(suites []*rulestest.Suite) {
	for _, s := range suites {
		for _, ig := range s.Ignore {
			used := false
			for i := range r.Results {
				res := &r.Results[i]
				if res.Fate != Killed && fits(ig, res.Mutant) {
					res.Fate, res.By, used = Explained, ig.Why, true
				}
			}
			if !used && !slices.Contains(r.Stale, ig) {
				r.Stale = append(r.Stale, ig)
			}
		}
	}
}

// fits reports whether an explanation is about a mutant. Its empty members fit all.
func fits(ig rulestest.IgnoredMutant, m *Mutant) bool {
	return (ig.Rule == "" || ig.Rule == m.Rule.Path) &&
		(ig.Mutant == "" || ig.Mutant == m.Kind) &&
		(ig.From == "" || ig.From == m.From) &&
		(ig.To == "" || ig.To == m.To)
}
