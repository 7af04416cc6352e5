package store

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// probe looks at a file's head before bbolt maps it. Touching a mapped page
// behind the end of a truncated file would kill the process, and bbolt touches
// all of them when it opens a file without a stored free list.
func probe(file string) error {
	if ok, err := exists(file); !ok {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: not a regular file", ErrForeign)
	}
	return probeMeta(f, info.Size())
}

// probeMeta checks the newest valid of the two meta pages: the file must be as
// long as it says.
func probeMeta(f io.ReaderAt, size int64) error {
	first, known := readMeta(f, 0)
	pageSize := int64(first.pageSize)
	if pageSize == 0 {
		pageSize = int64(os.Getpagesize())
	}
	second, also := readMeta(f, pageSize)
	if !known && !also {
		return ErrForeign
	}
	newest := first
	if !first.valid || second.valid && second.txid > first.txid {
		newest = second
	}
	switch need := int64(newest.pages) * int64(newest.pageSize); {
	case !newest.valid:
		return ErrDamaged
	case size < need:
		return fmt.Errorf("%w: %d bytes, should have %d", ErrDamaged, size, need)
	}
	return nil
}

// A boltMeta is what bbolt keeps in a meta page.
type boltMeta struct {
	pageSize uint32
	pages    uint64 // high-water mark
	txid     uint64
	valid    bool // the checksum is right
}

// readMeta reads the meta page at an offset. known reports bbolt's magic.
func readMeta(f io.ReaderAt, at int64) (m boltMeta, known bool) {
	const (
		header = 16 // of every page
		length = 64
		magic  = 0xED0CDAED
	)
	var page [length]byte
	if _, err := f.ReadAt(page[:], at+header); err != nil {
		return m, false
	}
	le := binary.LittleEndian
	if le.Uint32(page[0:]) != magic {
		return m, false
	}
	sum := fnv.New64a()
	sum.Write(page[:56])
	return boltMeta{
		pageSize: le.Uint32(page[8:]),
		pages:    le.Uint64(page[40:]),
		txid:     le.Uint64(page[48:]),
		valid:    sum.Sum64() == le.Uint64(page[56:]),
	}, true
}
