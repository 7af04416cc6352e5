package server

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/server/realtime"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/tree"
)

// docs/limits.md has the bounds that are in force, and every reason under which
// this package counts one.
func TestLimitsAreDocumented(t *testing.T) {
	file, err := os.ReadFile("../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	docs := string(file)
	var l Limits
	l.setDefaults()
	most := Limits{Memory: 1 << 50}
	most.setDefaults()
	mib := func(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
	seconds := func(d time.Duration) string { return fmt.Sprintf("%d s", d/time.Second) }
	for _, text := range []string{
		fmt.Sprintf("beyond %d of those", peer.MaxExcess),
		"At most " + thousands(peer.MaxClients) + " addresses",
		"| one body | " + mib(l.MaxWriteBytes),
		"| the body of one batch get over REST | " + mib(maxBatchBytes),
		"| one message | " + mib(l.MaxMessageBytes),
		"| request bodies and unfinished messages in memory, as they arrive | 1/8 of the memory; " + mib(most.MaxBodiesBytes),
		"| memory of writes and reads until they are done | 3/8 of the memory; " + fmt.Sprintf("%d GiB", most.MaxWorkBytes>>30),
		"| `onDisconnect` operations of all connections | 1/16 of the memory; " + mib(most.MaxPendingBytes),
		"| one value that is read | 3/16 of the memory; " + mib(most.MaxReadBytes),
		"over the realtime protocol each | 1/8 of the memory; " + mib(most.MaxAnswersBytes),
		fmt.Sprintf("wait for slow clients, beyond %d KiB of each | 1/%d of the memory; %s; a half for one address |", outbox.KeptUp>>10, 8*outbox.WaitingPart, mib(most.MaxAnswersBytes/outbox.WaitingPart)),
		fmt.Sprintf("large writes that are decided | as many as there are processors, 2 at least and %d at most", outbox.MaxReads),
		fmt.Sprintf("| HTTP connections | 1/16 of the [memory](#memory), %d KiB each; %s |", connectionBytes>>10, thousands(most.MaxConnections)),
		fmt.Sprintf("| realtime connections | 1/8 of the memory, %d KiB each; %s |", connectionBytes>>10, thousands(most.MaxRealtime)),
		fmt.Sprintf("| listens of all addresses that have bounds | 1/4 of the memory, %d KiB each; %s |", wholeListen>>10, thousands(most.MaxListens)),
		"| long-polling connections | 1/4 of the realtime connections; " + thousands(most.MaxPolls),
		"| databases that are made on first use | " + thousands(l.MaxNamespaces),
		"| values of one write, but of administrators | " + fmt.Sprintf("%d,%03d,%03d", dsync.MaxValues/1_000_000, dsync.MaxValues/1000%1000, dsync.MaxValues%1000),
		fmt.Sprintf("| a compressed body | %d times what was sent, beyond %s", maxExpansion, mib(freeExpansion)),
		fmt.Sprintf("| a request line | %d KiB |", l.MaxURLBytes>>10),
		fmt.Sprintf("| a request line and headers together | %d KiB", (l.MaxURLBytes+maxHeaderBytes)>>10),
		fmt.Sprintf("| %d; %d of the administrators of one database; %d is kept", observe.MaxFeeds, observe.MaxFeedsOf, observe.Reserved),
		fmt.Sprintf("| imports; exports and backups | %d; %d. Of each %d of the administrators of one database, and %d is kept for those of the whole server |", maxBulk, maxBulk, maxBulkOf, observe.Reserved),
		fmt.Sprintf("| %d; %d bytes; %s |", tree.MaxDepth, tree.MaxKeyBytes, mib(tree.MaxStringBytes)),
		fmt.Sprintf("| lines of a request line and headers together | %d |", peer.MaxHeadLines),
		fmt.Sprintf("| what a client sends for a TLS handshake | %d KiB |", peer.MaxHandshake>>10),
		"handshakes that take more than " + fmt.Sprint(peer.FreeHead>>10) + " KiB, of the same memory | 1/8 of the memory; " + mib(most.MaxBodiesBytes),
		fmt.Sprintf("%d bytes\nfor each of its bytes, %d for each line, and %d for each `&`", peer.HeadByteCost, peer.HeadLineCost, peer.HeadParamCost),
		fmt.Sprintf("| %s without a piece, %s in all and another second for each KiB", seconds(realtime.Stalled), seconds(realtime.Silence)),
		"or the headers of a request | " + seconds(headerTimeout),
		fmt.Sprintf("about databases that do not exist | %d in a second", observe.MaxReports),
		fmt.Sprintf("| %s, and another second for each %d KiB that came; never %s without", seconds(bodyGrace), bodyRate>>10, seconds(bodyStall)),
		"| a first message of a WebSocket | " + seconds(realtime.FirstMessage),
		fmt.Sprintf("| %s without a byte, %s in all", seconds(realtime.Stalled), seconds(realtime.Silence)),
		fmt.Sprintf("over a WebSocket | %s without a byte of it, also between two pieces; %s, and another second for each KiB", seconds(realtime.Stalled), seconds(realtime.Silence)),
		fmt.Sprintf("it is pinged every %s | %s", seconds(realtime.PingEvery), seconds(realtime.Silence)),
		"| a long-polling client without a poll | " + seconds(realtime.PollIdle),
		fmt.Sprintf("never %s in which it takes less than %d KiB", seconds(peer.WriteTimeout), peer.WriteLeast>>10),
	} {
		if !strings.Contains(docs, text) {
			t.Errorf("docs/limits.md lacks %q", text)
		}
	}
	for _, r := range []metrics.Reason{
		metrics.AddressConnections, metrics.AddressRate, metrics.AddressRequests, metrics.AddressBodies,
		metrics.AddressAnswers, metrics.AddressPolls, metrics.Connections, metrics.RealtimeConnections,
		metrics.Polls, metrics.SessionRequests, metrics.MessageSize, metrics.BodySize, metrics.BodyExpansion,
		metrics.WriteValues, metrics.WritePaths, metrics.Bodies, metrics.Answers, metrics.SlowHeaders, metrics.SlowBody, metrics.SlowConsumer,
		metrics.Silent, metrics.Bulk, metrics.Namespaces, metrics.Profiles,
	} {
		if !strings.Contains(docs, "`"+r.String()+"`") {
			t.Errorf("docs/limits.md lacks the reason %s", r)
		}
	}
	for _, r := range metrics.Bounds {
		if !strings.Contains(docs, "`"+r.String()+"`") {
			t.Errorf("docs/limits.md lacks the reason %s", r)
		}
	}
}

// docs/limits.md has the table of what is derived from four sizes of memory, and the
// parts for bodies, work, answers and connections fit into it together.
func TestBoundsByMemoryAreDocumented(t *testing.T) {
	file, err := os.ReadFile("../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []Limits
	for _, mib := range []int64{512, 1024, 4096, 24576} {
		l := Limits{Memory: mib << 20 / 8 * 7}
		l.setDefaults()
		all = append(all, l)
		sum := l.MaxWorkBytes + l.MaxBodiesBytes + 2*l.MaxAnswersBytes + l.MaxAnswersBytes/outbox.WaitingPart + int64(l.MaxConnections+l.MaxRealtime)*connectionBytes
		if sum > l.Memory {
			t.Errorf("in %d MiB bodies, work, answers and connections together are %d MiB", mib, sum>>20)
		}
	}
	row := func(name string, value func(Limits) string) {
		text := "| " + name + " |"
		for _, l := range all {
			text += " " + value(l) + " |"
		}
		if !strings.Contains(string(file), text+"\n") {
			t.Errorf("docs/limits.md lacks %s", text)
		}
	}
	mib := func(of func(Limits) int64) func(Limits) string {
		return func(l Limits) string { return fmt.Sprintf("%d MiB", of(l)>>20) }
	}
	row("soft limit |", mib(func(l Limits) int64 { return l.Memory }))
	row("`work`: writes and reads until they are done | 3/8", mib(func(l Limits) int64 { return l.MaxWorkBytes }))
	row("request bodies as they arrive | 1/8", mib(func(l Limits) int64 { return l.MaxBodiesBytes }))
	row("large answers over REST; as much over the realtime protocol | 1/8 each", mib(func(l Limits) int64 { return l.MaxAnswersBytes }))
	row("events and replies that wait for slow clients | 1/16", mib(func(l Limits) int64 { return l.MaxAnswersBytes / outbox.WaitingPart }))
	row("writes that wait, of one database | 1/32", mib(func(l Limits) int64 { return l.MaxPendingWrites }))
	row("one value that is read | 3/16", mib(func(l Limits) int64 { return l.MaxReadBytes }))
	row("`onDisconnect` operations of all connections | 1/16", mib(func(l Limits) int64 { return l.MaxPendingBytes }))
	row("`onDisconnect` operations of one address | 1/32", mib(func(l Limits) int64 { return l.PerAddress.PendingBytes }))
	row("HTTP connections | 1/16", func(l Limits) string { return thousands(l.MaxConnections) })
	row("realtime connections | 1/8", func(l Limits) string { return thousands(l.MaxRealtime) })
	row("long-polling connections | 1/32", func(l Limits) string { return thousands(l.MaxPolls) })
	row("connections of one address |", func(l Limits) string { return thousands(l.PerAddress.Connections) })
	row("long-polling connections of one address |", func(l Limits) string { return thousands(l.PerAddress.Polls) })
	row("addresses that are remembered | 1/32", func(l Limits) string { return thousands(l.maxClients()) })
	row("listens of all addresses | 1/4", func(l Limits) string { return thousands(l.MaxListens) })
	row("listens of one address | 1/32", func(l Limits) string { return thousands(l.PerAddress.Listens) })
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
