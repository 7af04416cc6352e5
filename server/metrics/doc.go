// Package metrics is what a server counts about itself, and the form in which
// Prometheus reads it.
//
// A [Metrics] has plain numbers that are added to atomically. Adding is cheap; names and
// labels are made when the metrics are scraped. The counters of the engine stay in the
// engine (sync.Stats) and are read at that time.
//
// To count a refusal, add a [Reason] to the list in refusals.go, with its label, and
// say at the place that refuses:
//
//	s.metrics.Refused.Add(metrics.AddressConnections)
//
// The package decides nothing and holds nothing of what clients sent: no paths, no
// addresses, no credentials.
package metrics
