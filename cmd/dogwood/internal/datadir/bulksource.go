package datadir

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// A bulkFile is a file that may be compressed, read from its beginning to its
// end.
type bulkFile struct {
	io.Reader
	Size  int64        // of the file, 0 if it is unknown
	Done  atomic.Int64 // of the file, so far
	close func() error
}

// OpenBulk opens a file, or standard input for "-".
func OpenBulk(e *console.Env, name string) (*bulkFile, error) {
	if name == "-" {
		return newBulkFile("standard input", e.Input("the data"), 0, func() error { return nil })
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New(name + " is a directory")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	b, err := newBulkFile(name, f, info.Size(), f.Close)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return b, nil
}

func newBulkFile(name string, src io.Reader, size int64, close func() error) (*bulkFile, error) {
	b := &bulkFile{Size: size, close: close}
	buffered := bufio.NewReaderSize(&countingReader{src, &b.Done}, 256<<10)
	b.Reader = buffered
	if head, _ := buffered.Peek(2); string(head) != "\x1f\x8b" { // what is wrong is seen when it is read
		skipMark(buffered)
		return b, nil
	}
	z, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, gzipError(name, err)
	}
	plain := bufio.NewReader(&unzipper{z, name})
	skipMark(plain)
	b.Reader = plain
	return b, nil
}

// skipMark skips a byte order mark, which some editors put before JSON in UTF-8.
func skipMark(r *bufio.Reader) {
	const mark = "\ufeff"
	if head, _ := r.Peek(len(mark)); string(head) == mark {
		_, _ = r.Discard(len(mark)) // they are in the buffer
	}
}

// A DamagedError says that a compressed file is damaged. The error of a request whose body
// is the file wraps it.
type DamagedError struct {
	file, how string
}

func (e *DamagedError) Error() string { return e.file + ": " + e.how }

// gzipError makes a DamagedError of errors about the content of the file.
func gzipError(file string, err error) error {
	corrupt := flate.CorruptInputError(0)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &DamagedError{file, "truncated; the gzip data have no end"}
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return &DamagedError{file, "damaged gzip data"}
	}
	return err
}

// An unzipper reads what is in a compressed file.
type unzipper struct {
	*gzip.Reader
	file string
}

func (z *unzipper) Read(p []byte) (int, error) {
	n, err := z.Reader.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, gzipError(z.file, err)
}

// Close closes the file.
func (b *bulkFile) Close() error { return b.close() }

type countingReader struct {
	io.Reader
	count *atomic.Int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.count.Add(int64(n))
	return n, err
}
