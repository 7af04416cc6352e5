package server

import (
	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/space"
	"github.com/dogwooddb/dogwood/server/telemetry"
	"github.com/dogwooddb/dogwood/sync/versions"
)

// Names for the types of Options that other packages have: programs can only import this one.
type (
	// AuthOptions say which credentials are believed.
	AuthOptions = auth.Options

	// A Provider makes ID tokens that are believed.
	Provider = auth.Provider

	// An Audience is what the aud of a token says when it is for a database.
	Audience = auth.Audience

	// A Secret is a credential of an administrator.
	Secret = auth.Secret

	// RulesOptions say how a rules document is to be read.
	RulesOptions = versions.Options

	// Decisions say what is made of the decisions of rules.
	Decisions = observe.Decisions

	// A Recorder keeps the decisions of rules in a file. OpenRecorder makes one.
	Recorder = observe.Recorder

	// An Amount is how much of a disk is to stay free.
	Amount = space.Amount

	// TraceOptions say where traces are sent, and how many of them.
	TraceOptions = telemetry.Options

	// Traces are sent to a collector of OpenTelemetry. NewTraces makes them.
	Traces = telemetry.Exporter
)

// OpenRecorder opens a file to whose end decisions are added, for Options.Decisions.
func OpenRecorder(file string) (*Recorder, error) { return observe.OpenRecorder(file) }

// NewTraces returns what sends traces, for Options.Spans. The caller closes it.
func NewTraces(o TraceOptions) (*Traces, error) { return telemetry.New(o) }
