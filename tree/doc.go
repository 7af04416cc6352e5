// Package tree is the data model: paths, immutable JSON nodes, their order,
// queries, hashes and writes. It does no I/O and keeps no state, so the rules,
// the store, the sync engine, the Go SDK and the tests all share it.
//
// A database is one tree. A [Path] names a location in it, a [Node] is the
// value below a location. A Node is kept as canonical JSON text in the export
// form of the protocol: children in key order, no nulls, no empty objects,
// arrays as objects with decimal keys, numbers in their shortest form, and the
// priority, if any, always first:
//
//	7   "text"   {"a":1,"b":{"c":true}}   {".priority":3,".value":"leaf"}
//
// So two nodes are equal exactly if their texts are, a child is a substring of
// its parent, and a stored row, a pushed frame and a hash all start from the
// same bytes.
//
// What arrives from clients is first a [Draft]: it went through every check of
// form and size, but may still hold server values ({".sv":"timestamp"}).
// Resolving a Draft gives the Node that is stored.
//
// Everything here is a value or belongs to its caller: a Node, Path, Query or
// Draft may be shared between goroutines, and a Builder, parser or writer
// belongs to one. No function keeps what it was given beyond its return, except
// where a result is a part of it, as a child is of its parent. Such a part
// keeps the whole text in memory; Clone makes it independent.
//
// Text comes in at two places only: Parse (with its relatives) checks what a
// client wrote, and FromCanonical trusts what this package has made before. The
// walkers of canonical text in scan.go check nothing, so that reading a stored
// value costs no more than to find its ends.
package tree
