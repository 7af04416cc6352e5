package metrics

import "sync/atomic"

// A Reason says which bound made the server refuse something, or hold it up.
type Reason uint8

// The bounds. The label of each in reasons is part of what the server shows, so it
// does not change.
const (
	AddressConnections  Reason = iota // connections of one address
	AddressRate                       // new connections of one address per second
	AddressRequests                   // requests of one address per second
	AddressBodies                     // bytes of request bodies of one address
	AddressPolls                      // long polls of one address
	AddressAnswers                    // bytes of large answers to one address
	AddressListens                    // listens of one address
	AddressWindows                    // query windows of one address at a path
	AddressDisconnects                // onDisconnect operations of one address
	Connections                       // HTTP connections of the server
	RealtimeConnections               // realtime connections of the server
	Polls                             // long polls of the server
	SessionRequests                   // requests of one realtime connection per second
	SessionListens                    // listens of one realtime connection
	SessionWindows                    // query windows of one realtime connection at a path
	SessionDisconnects                // onDisconnect operations of one realtime connection
	SessionWrites                     // writes of one realtime connection that wait
	PathWindows                       // query windows of all connections at a path
	MessageSize                       // one realtime message
	BodySize                          // one request body
	WriteValues                       // values of one write
	WritePaths                        // paths of one update
	WriteMemory                       // memory that one write takes
	BodyExpansion                     // what a compressed body grows to
	Bodies                            // bytes of request bodies in memory
	AddressWork                       // memory of writes and reads of one address
	Work                              // memory of writes and reads
	Answers                           // bytes of large answers in memory
	Disconnects                       // onDisconnect operations of all realtime connections
	SlowHeaders                       // a request whose headers do not arrive in time
	SlowBody                          // a body that does not arrive in time
	SlowConsumer                      // a client that does not read what it listens to
	Silent                            // a realtime connection without a sign of life
	Queue                             // writes that wait for the committer
	Bulk                              // imports, exports and backups at a time
	Namespaces                        // databases that are made on first use
	Profiles                          // profiles at a time
	reasonCount
)

// Reasons is how many there are: each is less.
const Reasons = int(reasonCount)

// reasons are the labels.
var reasons = [reasonCount]string{
	AddressConnections:  "address_connections",
	AddressRate:         "address_connection_rate",
	AddressRequests:     "address_request_rate",
	AddressBodies:       "address_body_bytes",
	AddressPolls:        "address_polls",
	AddressAnswers:      "address_answer_bytes",
	AddressListens:      "address_listens",
	AddressWindows:      "address_windows",
	AddressDisconnects:  "address_disconnects",
	Connections:         "connections",
	RealtimeConnections: "realtime_connections",
	Polls:               "polls",
	SessionRequests:     "session_request_rate",
	SessionListens:      "session_listens",
	SessionWindows:      "session_windows",
	SessionDisconnects:  "session_disconnects",
	SessionWrites:       "session_writes",
	PathWindows:         "path_windows",
	MessageSize:         "message_size",
	BodySize:            "body_size",
	WriteValues:         "write_values",
	WritePaths:          "write_paths",
	WriteMemory:         "write_memory",
	BodyExpansion:       "body_expansion",
	Bodies:              "body_bytes",
	AddressWork:         "address_work_bytes",
	Work:                "work_bytes",
	Answers:             "answer_bytes",
	Disconnects:         "disconnects",
	SlowHeaders:         "slow_headers",
	SlowBody:            "slow_body",
	SlowConsumer:        "slow_consumer",
	Silent:              "silent",
	Queue:               "queue",
	Bulk:                "bulk",
	Namespaces:          "namespaces",
	Profiles:            "profiles",
}

// String returns the label of a reason.
func (r Reason) String() string { return reasons[r] }

// Refusals counts by reason. The zero value is ready, and nil counts nothing.
type Refusals struct{ counts [reasonCount]atomic.Uint64 }

// Add counts one refusal.
func (r *Refusals) Add(reason Reason) {
	if r != nil {
		r.counts[reason].Add(1)
	}
}

// Of returns how many there were for a reason.
func (r *Refusals) Of(reason Reason) uint64 { return r.counts[reason].Load() }

// Total returns how many there were for all reasons.
func (r *Refusals) Total() (n uint64) {
	for i := range r.counts {
		n += r.counts[i].Load()
	}
	return n
}
