// Package store keeps one tree flat in one bbolt file, with or without a log in
// front of it, or in memory behind the same code, and reads and writes it in
// transactions.
//
// The nouns, and what must hold of them ([Store.Check] verifies all of it):
//
//   - A row is one entry of bucket n: (container id, ordered key) → value. The
//     value is a packed subtree as canonical JSON, a reference to a container,
//     or a reference to a blob. Row (0, "") is the root.
//   - A container is a node whose children are rows of their own. It has an id
//     that is never used again. There are no empty containers.
//   - A subtree of up to [PackLimit] bytes is packed into one row. A larger
//     object becomes a container, a larger string a blob in 32 KiB chunks.
//   - The number of a container's children is in bucket c, unless the file is of a
//     version that kept none.
//   - An ordered key sorts bytewise as tree.CompareKeys sorts keys.
//   - An index entry is a key of bucket x: (index, container, value, ordered
//     key). The entries of a container are those that its rows imply.
//   - A writer, in bucket w, is a client that gave its writes ids: the numbers of
//     those that were carried out, and when the last one was. Those not heard from
//     for long are forgotten.
//   - What a [Load] has stored cannot be reached until it is linked. The ids it
//     uses are on record until then.
//
// So reads cost the rows they return, and replacing or deleting a subtree of
// any size unlinks one row: the containers and blobs below go to the reclaim
// queue, from which [Store.Reclaim] frees them a little at a time.
//
// Below it, package kv keeps the entries and their checksums, and package dedup
// the ids of writes. In a data directory, package logged puts the write-ahead log
// of package wal in front of the file: a commit is durable when it is in the log,
// and is applied to the file later. tree.ParseStream reads the text of a [Load].
//
// One write transaction runs at a time; any number of read transactions see the
// state of the last commit before they began. A read transaction keeps pages
// from being freed, so nothing slow may happen inside one.
package store
