package metrics

import (
	"sort"

	"github.com/dogwooddb/dogwood/sync/declared"
)

// A family is all metrics of one name. A name is an interface for dashboards
// and alarms, so a family is never renamed and never changes its unit.
type family struct {
	name, help string
	kind       string   // as the text format has it
	labels     []string // their names, in the order in which values are given
	order      []int    // of the labels on the page, which is that of their names
}

// families are all of them, in the order below. docs/observability.md explains each
// one.
var families []*family

func define(kind, name, help string, labels ...string) *family {
	f := &family{name: "dogwood_" + name, help: help, kind: kind, labels: labels}
	for i := range labels {
		f.order = append(f.order, i)
	}
	sort.Slice(f.order, func(i, j int) bool { return labels[f.order[i]] < labels[f.order[j]] })
	families = append(families, f)
	return f
}

func counter(name, help string, labels ...string) *family {
	return define("counter", name, help, labels...)
}

func gauge(name, help string, labels ...string) *family {
	return define("gauge", name, help, labels...)
}

func distribution(name, help string, labels ...string) *family {
	return define("histogram", name, help, labels...)
}

const (
	labelNamespace  = "namespace"
	labelDefinition = "definition"
	labelTransport  = "transport"
)

// Of the server.
var (
	info               = gauge("info", "Always 1; the label has the version.", "version")
	connections        = gauge("connections", "Connections that are open.", labelTransport)
	connectionsTotal   = counter("connections_total", "Connections that were opened.", labelTransport)
	receivedBytes      = counter("received_bytes_total", "Bytes of request bodies and of WebSockets.", labelTransport)
	sentBytes          = counter("sent_bytes_total", "Bytes of answers and of WebSockets.", labelTransport)
	requests           = counter("requests_total", "HTTP requests that were answered; code 499: the client was gone before.", "kind", "code")
	requestSeconds     = distribution("request_seconds", "Time from a request to the end of its answer.", "kind")
	refused            = counter("refused_total", "What was refused or held up because of a bound.", "reason")
	credentialsRefused = counter("credentials_refused_total", "Tokens and secrets that were not acceptable.")
	heldBytes          = gauge("held_bytes", "Memory that request bodies, large answers, large views, what waits for slow clients and onDisconnect operations hold.", "use")
	bulkRunning        = gauge("bulk_running", "Imports, and exports with backups, that are under way.", "operation")
	backups            = counter("backups_total", "Scheduled backups of databases.", "result")
	lastBackup         = gauge("last_backup_timestamp_seconds", "When the last good scheduled backup was begun.")
	lastBackupBytes    = gauge("last_backup_bytes", "Size of the last good scheduled backup.")
	spans              = counter("spans_total", "Spans of traces that the collector has taken, or that were dropped.", "result")
	databases          = gauge("databases", "Databases that are open.")
	logBytes           = gauge("log_bytes", "Size of the write-ahead log.")
	logSegments        = gauge("log_segments", "Files that it consists of.")
	logUnapplied       = gauge("log_unapplied_bytes", "Memory of commits that are in the log and not in the files of their databases.")
	certificateEnd     = gauge("certificate_expiry_timestamp_seconds", "Until when the certificate of a host is valid; 0 if there is none.", "host")
	diskFree           = gauge("disk_free_bytes", "Room on the disk of a directory that the server may use.", "use")
	diskSize           = gauge("disk_size_bytes", "Size of that disk.", "use")
	diskLeast          = gauge("disk_min_free_bytes", "Room on that disk below which writes stop.", "use")
	diskShort          = gauge("disk_short", "1 while writes stop because the disk has less room than that.", "use")
	logOldest          = gauge("log_oldest_unapplied_seconds", "Age of the oldest of these commits; 0 if there is none.")
)

// ofDatabases are those of each database, with where their numbers come from: a metric that
// is declared is collected.
var ofDatabases = []struct {
	*family
	value func(d *Database) float64
}{
	{counter("reads_total", "Reads of values, listings and exports.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Reads) }},
	{counter("writes_total", "Writes and other changes that the committer carried out or refused.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Writes) }},
	{counter("commits_total", "Batches of writes.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Batches) }},
	{counter("commits_failed_total", "Attempts to commit that failed.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Failed) }},
	{counter("rules_decisions_total", "Decisions of the rules.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Decisions) }},
	{counter("rules_denied_total", "Decisions of the rules to deny.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Denied) }},
	{counter("events_published_total", "Events, each counted once for all that listen to the same view.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Published) }},
	{counter("events_delivered_total", "Events that were queued for listeners.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Events) }},
	{counter("view_reloads_total", "Whole views that took the place of events.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Resyncs) }},
	{counter("outbox_overflows_total", "How often more waited for a client than it may have.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Overflows) }},
	{counter("slow_consumers_total", "Clients that were given up because more waited for them than they may have; refused_total counts also those that took too long.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Slow) }},
	{gauge("listens", "Listens that go on.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Listeners) }},
	{gauge("queued_writes", "Writes that wait for the committer.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Queued) }},
	{gauge("queued_bytes", "Bytes of writes that wait for the committer.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.QueuedBytes) }},
	{gauge("watchers", "Profiles and dogwood top that are told each operation.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Watchers) }},
	{gauge("store_bytes", "Size of the file.", labelNamespace), func(d *Database) float64 { return float64(d.Usage.Bytes) }},
	{gauge("store_free_bytes", "Part of the file that later writes will use.", labelNamespace), func(d *Database) float64 { return float64(d.Usage.FreeBytes) }},
	{gauge("store_reclaim_entries", "Entries of the reclaim queue; of more than 1000 no more is known.", labelNamespace), func(d *Database) float64 { return float64(d.Usage.Reclaim) }},
	{counter("damaged_rows_total", "How often reads, writes and scrubs came by an entry of the file that is damaged.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Damaged) }},
	{counter("scrubs_total", "Times that the whole file was read for damage.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Scrubs) }},
	{gauge("documents_refused", "How many of the rules and the data document this version of Dogwood refuses, which an earlier one has accepted.", labelNamespace), func(d *Database) float64 { return float64(d.Stats.Refused) }},
	{gauge("store_failing", "1 while commits fail because the store does.", labelNamespace), func(d *Database) float64 { return d.failing() }},
}

// ofDefinitions are those of each definition of the data document of a database.
var ofDefinitions = []struct {
	*family
	value func(a declared.Activity) float64
}{
	{counter("definition_touches_total", "Nodes of the definition's source that writes touched.", labelNamespace, labelDefinition), func(a declared.Activity) float64 { return float64(a.Touches) }},
	{counter("definition_writes_total", "Places that the server changed because of the definition.", labelNamespace, labelDefinition), func(a declared.Activity) float64 { return float64(a.Writes) }},
	{counter("definition_skipped_total", "Nodes that did not match because an expression failed.", labelNamespace, labelDefinition), func(a declared.Activity) float64 { return float64(a.Skipped) }},
	{counter("definition_seconds_total", "Time that it took to compute what follows from writes.", labelNamespace, labelDefinition), func(a declared.Activity) float64 { return a.Seconds }},
}

// Times of all databases together.
var (
	commitSeconds = distribution("commit_seconds", "Time of a batch: to decide, store and publish it.")
	syncSeconds   = distribution("sync_seconds", "Part of it in which the file is written and synced.")
	logSync       = distribution("log_sync_seconds", "Time of a write to the log with its sync, which the commits of several databases share.")
	ackSeconds    = distribution("write_seconds", "Time of a write from when it is queued until it is durable and published.")
	batchWrites   = distribution("batch_writes", "Writes of a batch.")
)
