package metrics

import "sync/atomic"

// A Reason says which bound made the server refuse something, or hold it up.
type Reason uint8

// The bounds. Their labels are part of what the server shows, so they do not change.
var (
	AddressConnections  = bound("address_connections")     // connections of one address
	AddressRate         = bound("address_connection_rate") // new connections of one address per second
	AddressRequests     = bound("address_request_rate")    // requests of one address per second
	AddressBodies       = bound("address_body_bytes")      // bytes of request bodies of one address
	AddressPolls        = bound("address_polls")           // long polls of one address
	AddressAnswers      = bound("address_answer_bytes")    // bytes of large answers to one address
	AddressListens      = bound("address_listens")         // listens of one address
	AddressWindows      = bound("address_windows")         // query windows of one address at a path
	AddressDisconnects  = bound("address_disconnects")     // onDisconnect operations of one address
	Connections         = bound("connections")             // HTTP connections of the server
	RealtimeConnections = bound("realtime_connections")    // realtime connections of the server
	Polls               = bound("polls")                   // long polls of the server
	SessionRequests     = bound("session_request_rate")    // requests of one realtime connection per second
	SessionListens      = bound("session_listens")         // listens of one realtime connection
	SessionWindows      = bound("session_windows")         // query windows of one realtime connection at a path
	SessionDisconnects  = bound("session_disconnects")     // onDisconnect operations of one realtime connection
	SessionWrites       = bound("session_writes")          // writes of one realtime connection that wait
	PathWindows         = bound("path_windows")            // query windows of all connections at a path
	MessageSize         = bound("message_size")            // one realtime message
	BodySize            = bound("body_size")               // one request body
	WriteValues         = bound("write_values")            // values of one write
	WritePaths          = bound("write_paths")             // paths of one update
	WriteMemory         = bound("write_memory")            // memory that one write takes
	BodyExpansion       = bound("body_expansion")          // what a compressed body grows to
	Bodies              = bound("body_bytes")              // bytes of request bodies in memory
	AddressWork         = bound("address_work_bytes")      // memory of writes and reads of one address
	Work                = bound("work_bytes")              // memory of writes and reads
	Answers             = bound("answer_bytes")            // bytes of large answers in memory
	Disconnects         = bound("disconnects")             // onDisconnect operations of all realtime connections
	Listens             = bound("listens")                 // listens of all connections
	SlowHeaders         = bound("slow_headers")            // a request whose headers do not arrive in time
	SlowBody            = bound("slow_body")               // a body that does not arrive in time
	SlowConsumer        = bound("slow_consumer")           // a client that does not read what it listens to
	Silent              = bound("silent")                  // a realtime connection without a sign of life
	Queue               = bound("queue")                   // writes that wait for the committer
	Bulk                = bound("bulk")                    // imports, exports and backups at a time
	Namespaces          = bound("namespaces")              // databases that are made on first use
	Profiles            = bound("profiles")                // profiles at a time
)

// Constants would be as good as variables here, but they need a second table that gives each
// its label, in the same order.

// MaxReasons is more than there are: each Reason is less.
const MaxReasons = 64

// reasons are the labels of all bounds.
var reasons []string

// bound makes the Reason with a label.
func bound(label string) Reason {
	reasons = append(reasons, label)
	return Reason(len(reasons) - 1)
}

// String returns the label of a reason.
func (r Reason) String() string { return reasons[r] }

// Refusals counts by reason. The zero value is ready, and nil counts nothing.
// An array of atomics: refusals come in floods, and a map would need a lock
// just then.
type Refusals struct{ counts [MaxReasons]atomic.Uint64 }

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
