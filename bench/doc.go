// Package bench puts load on a server of the realtime protocol and measures
// how it performs. It is the engine of "dogwood bench" and knows only the
// protocol, so any server that speaks it can be measured in the same way.
//
// A [Workload] is a kind of load: [Set], [Chat], [ChatRoom], [Social], [Fanout],
// [Idle], [Shallow], [Query], [RESTGet] and [RESTPut], and those of the packages soak and
// isolation. [Run] prepares a database of a [Target], runs the workload for a time or a
// number of operations, and returns a [Result]. [Median] makes one result of several.
//
// # Latencies
//
// In a closed loop an operation starts when an earlier one ends, so a server that stalls
// gets fewer requests meanwhile, and its stalls hardly show. With a rate the loop is open: each operation has a time at which it is due, and its
// latency counts from then, however late it was sent. Percentiles come from
// histograms that keep three digits.
//
// # The generator
//
// Load and server often share a machine, so the generator must be cheap. It frames its own
// messages, sends all that are due in one system call, reads replies in place, and does not
// allocate for each operation.
//
// The tags of a workload's fields are the flags of its command in dogwood bench; the zero value
// of a field takes the same default (WithDefaults).
package bench
