package sync

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/damage"
	"github.com/dogwooddb/dogwood/sync/fingerprint"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/pending"
	"github.com/dogwooddb/dogwood/sync/query"
	"github.com/dogwooddb/dogwood/sync/queue"
	"github.com/dogwooddb/dogwood/sync/resume"
)

// docs/limits.md has the bounds of the engine that are in force.
func TestLimitsAreDocumented(t *testing.T) {
	file, err := os.ReadFile("../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	docs := strings.ReplaceAll(string(file), "\n", " ")
	thousands := func(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
	for _, text := range []string{
		fmt.Sprintf("| listens | %s, with %d MiB", thousands(maxListens), maxListenBytes>>20),
		fmt.Sprintf("| different queries at one path, by weight | %d |", maxWindows),
		fmt.Sprintf("without an index weighs %d times as much", audience.UnindexedWeight),
		fmt.Sprintf("| `onDisconnect` operations | %s, with %d MiB", thousands(pending.MaxRecords), pending.MaxBytes>>20),
		fmt.Sprintf("| writes that are not acknowledged | %s, with %d MiB", thousands(maxUnacked), maxUnackedSize>>20),
		fmt.Sprintf("There are %s at most.", thousands(maxUnacked)),
		fmt.Sprintf("| replies that are not read | %d MiB", outbox.DefaultBytes>>20),
		fmt.Sprintf("| one [batch get](extensions.md#batch-get) | %s entries, %s keys |", thousands(MaxLookups), thousands(MaxLookupKeys)),
		fmt.Sprintf("in its regular expressions %d characters with repeats written out, and %d KiB of sets of characters", expression.MaxFilterSteps, expression.MaxFilterSets>>10),
		fmt.Sprintf("%d MiB in one batch get, equal ones once; %d MiB that all clients", query.MaxFilters>>20, expression.MaxCompiled>>20),
		"(extensions.md#resolved-values) | " + thousands(maxReturned) + " |",
		fmt.Sprintf("(extensions.md#conditions-of-ondisconnect) | %d KiB |", pending.MaxCondition>>10),
		"| different queries at one path of one database, by weight | " + thousands(audience.DefaultPathWindows) + "; up to 1,000,000 by `--path-windows` |",
		fmt.Sprintf("looks at up to %s children in all queries together", thousands(audience.MaxLooked)),
		"decisions with the places that they read | " + thousands(audience.MaxTouching) + " |",
		fmt.Sprintf("`If-Match`) | %d MiB; %d MiB for administrators |", maxCompared>>20, maxComparedAdmin>>20),
		fmt.Sprintf("that are remembered, of one database | %d |", fingerprint.Max),
		fmt.Sprintf("with a value of up to %d KiB", comparedAtOnce>>10),
		fmt.Sprintf("up to %d times; after that", maxPrepares),
		fmt.Sprintf("| writes that wait, of one database | %s, with 1/32 of the memory; %d MiB", thousands(queue.MaxTasks), DefaultMaxQueue>>20),
		fmt.Sprintf("1 more for each %d of its limit, up to %d", audience.EntriesOfWeight, audience.MaxWindowWeight),
		fmt.Sprintf("and then to be read like that | %d, and %d of one address |", outbox.MaxViews, outbox.MaxViews/2),
		fmt.Sprintf("%d bytes for each beside its text, and %d KiB for each value", taskOverhead, pending.ValueCost>>10),
		"| paths of one update, but of administrators | " + thousands(MaxPaths) + " |",
		fmt.Sprintf("in slices of %d KiB", largeSlice>>10),
		fmt.Sprintf("decided again, %d times at most", largeTries),
		fmt.Sprintf("look at more than %d nodes for it, or at more than %d MiB of text", manyLooked, muchSpent>>20),
		fmt.Sprintf("at most %s of their places and they look at no more than %d MiB of text", thousands(mostWithin), muchSpent>>20),
		fmt.Sprintf("but for one step each %.0f s.", holdMost.Seconds()),
		fmt.Sprintf("%d bytes for each of its bytes and %d for each comma", costOfByte, costOfValue),
		fmt.Sprintf("%d KiB at a time with %d ms between: %d MiB in a second |", scrubStep>>10, (scrubPause + time.Millisecond/2).Milliseconds(), scrubStep*time.Second/scrubPause>>20),
		fmt.Sprintf("| background scrub: the whole file is read, %.0f min after the start and then every %.0f h |", scrubAfter.Minutes(), DefaultScrubEvery.Hours()),
		fmt.Sprintf("| %d entries in one transaction, between writes |", workRows),
		fmt.Sprintf("about damaged data, of one database | 1 in %.0f s |", damage.LogEvery.Seconds()),
		fmt.Sprintf("tried again before later writes, up to %d times", maxTries),
		fmt.Sprintf("After %d ms of such operations, other addresses take turns", queue.PutBackLead.Milliseconds()),
		"| commits of the database that it has missed | " + thousands(resume.MaxCommits) + " |",
		"| paths in its view that were written meanwhile | " + thousands(resume.MaxTouched) + " |",
	} {
		if !strings.Contains(docs, text) {
			t.Errorf("docs/limits.md lacks %q", text)
		}
	}
}
