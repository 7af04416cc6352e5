// Package kv is an ordered key-value store with transactions, in one bbolt file or in
// memory. It knows nothing of the tree that package store keeps in it.
//
// A [Store] has a fixed set of buckets. A [Tx] reads one consistent state. There is one
// write transaction at a time, and a commit is on the disk when it returns. A [Cursor]
// walks a bucket in byte order.
//
// A [File] trusts nothing that is on the disk. It follows all pages before bbolt maps
// them, keeps a checksum behind the value of every entry, reads pages with its own
// bounds checks instead of bbolt's, and turns the panics that are left into errors. A
// damaged entry is an error and never a wrong value. If the last sync of a commit fails,
// the file puts the former meta page back, so that the commit did not take place. While
// that fails too, the file can be neither read nor written.
//
// Transactions of a file belong to one goroutine. Those of a damaged or failed file may
// fail at any call.
package kv
