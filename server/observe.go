package server

import "github.com/dogwooddb/dogwood/server/observe"

// What administrators are shown is made by package observe.
type (
	// Decisions say what is made of the decisions of rules.
	Decisions = observe.Decisions
	// A Recorder keeps the decisions of rules in a file.
	Recorder = observe.Recorder

	// A Top is what dogwood top shows.
	Top = observe.Top
	// TopConnections are a part of it.
	TopConnections = observe.TopConnections
	// TopRates are a part of it.
	TopRates = observe.TopRates
	// A TopLatency is a part of it.
	TopLatency = observe.TopLatency
	// A SlowClient is a part of it.
	SlowClient = observe.SlowClient
	// A HotPath is a part of it.
	HotPath = observe.HotPath
)

// OpenRecorder opens a recording, to whose end decisions are added. Only its
// owner may read it.
func OpenRecorder(name string) (*Recorder, error) { return observe.OpenRecorder(name) }
