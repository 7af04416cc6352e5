// Package metrics is what a server counts about itself, and the form in which
// Prometheus reads it.
//
// A [Metrics] is plain numbers that are added to atomically: whoever does the work
// adds, and whoever scrapes pays for names and labels. What the engine counts stays
// there (sync.Stats) and is read when somebody asks.
//
// To count a refusal, add a [Reason] to the list in refusals.go, with its label, and
// say at the place that refuses:
//
//	s.metrics.Refused.Add(metrics.AddressConnections)
//
// The package decides nothing and holds nothing of what clients sent: no paths, no
// addresses, no credentials.
package metrics
