// Package observe is what administrators and developers look at: the views of
// "dogwood top" (hot paths, rates, slow clients), profiles of a database, the
// decisions of its rules (denied operations, coverage, recordings), and the lines of
// the log that a flood must not multiply.
//
// It knows the engine and the counters of package metrics, and nothing of HTTP but the
// header that names a request. Package server finds out who asks and sends what this
// package makes.
//
// Nothing here makes an operation wait. What is told of operations counts them, or keeps
// a bounded number of them and says how many it left out.
//
// Everything here has a bound, and says at the bound how much it left out. Nothing keeps
// texts of requests beyond a clipped path, since those are made up by clients.
package observe
