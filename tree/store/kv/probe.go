package kv

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
)

// probeHead looks at a file before bbolt maps it, and reports whether there is
// one. Touching a mapped page behind the
// end of a truncated file would kill the process, and so would a damaged page.
func probeHead(file string) (there bool, err error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.Size() == 0:
		return true, fmt.Errorf("%w: an empty file; delete it to start with a new database", ErrDamaged)
	case !info.Mode().IsRegular():
		return true, fmt.Errorf("%w: not a regular file", ErrForeign)
	}
	f, err := os.Open(file)
	if err != nil {
		return true, err
	}
	defer f.Close()
	return true, probeMeta(f, info.Size())
}

// probeMeta checks the two meta pages: the file must be as long as the newest says.
func probeMeta(f io.ReaderAt, size int64) error {
	newest, err := newestMeta(f)
	if err != nil {
		return err
	}
	if need := int64(newest.pages) * int64(newest.pageSize); size < need {
		return fmt.Errorf("%w: %d bytes, should have %d", ErrDamaged, size, need)
	}
	return bothMetas(f, size, newest)
}

// freshPages is how many pages a file has before anything is committed.
const freshPages = 4

// bothMetas checks that the other meta page is whole, too. A damaged one may have been the
// newest. The one that is left would be served without the last commit, and in a file of
// one commit without everything. A power failure does not damage a meta page, which is in
// one sector, but it may leave a new file with one of them.
func bothMetas(f io.ReaderAt, size int64, newest boltMeta) error {
	if newest.txid <= 1 && size <= freshPages*int64(newest.pageSize) {
		return nil
	}
	for number := range uint64(2) {
		if m, _ := readMeta(f, number, int64(newest.pageSize)); !m.valid {
			return fmt.Errorf("%w: page %d: the meta page is damaged, and the last commit may be lost", ErrDamaged, number)
		}
	}
	return nil
}

// newestMeta returns the newest valid meta page. bbolt takes the valid page
// with the higher transaction, too, and falls back to the other one without
// saying so. That is why bothMetas asks for both.
func newestMeta(f io.ReaderAt) (newest boltMeta, err error) {
	first, known := readMeta(f, 0, 0)
	pageSize := int64(first.pageSize)
	if pageSize == 0 {
		pageSize = int64(os.Getpagesize())
	}
	second, also := readMeta(f, 1, pageSize)
	if !known && !also {
		return newest, ErrForeign
	}
	newest = first
	if !first.valid || second.valid && second.txid > first.txid {
		newest = second
	}
	if !newest.valid {
		return newest, ErrDamaged
	}
	return newest, nil
}

// UsedBytes returns how many bytes at the beginning of a file its newest state uses.
func UsedBytes(f io.ReaderAt) (int64, error) {
	meta, err := newestMeta(f)
	return int64(meta.pages) * int64(meta.pageSize), err
}

// A boltMeta is what bbolt keeps in a meta page.
type boltMeta struct {
	pageSize uint32
	root     uint64 // page of the root bucket
	freeList uint64 // page of the list of free pages, or noFreeList
	pages    uint64 // high-water mark
	txid     uint64
	valid    bool // the checksum is right, and the page is where it belongs
}

// readMeta reads the meta page with a number. known reports bbolt's magic.
func readMeta(f io.ReaderAt, number uint64, pageSize int64) (m boltMeta, known bool) {
	const (
		length = 64
		magic  = 0xED0CDAED
	)
	var whole [pageHeader + length]byte
	if _, err := f.ReadAt(whole[:], int64(number)*pageSize); err != nil {
		return m, false
	}
	page := whole[pageHeader:]
	if le.Uint32(page[0:]) != magic {
		return m, false
	}
	sum := fnv.New64a()
	sum.Write(page[:56])
	return boltMeta{
		pageSize: le.Uint32(page[8:]),
		root:     le.Uint64(page[16:]),
		freeList: le.Uint64(page[32:]),
		pages:    le.Uint64(page[40:]),
		txid:     le.Uint64(page[48:]),
		valid:    sum.Sum64() == le.Uint64(page[56:]) && le.Uint64(whole[:]) == number && le.Uint16(whole[8:]) == flagMeta,
	}, true
}
