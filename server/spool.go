package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// spoolMemory is how much a spool keeps in memory.
const spoolMemory = 1 << 20

// A spool keeps what is on its way to a client in a file without a name, once it
// is large. So a snapshot of a database is held for as long as the local disk
// takes, however slow the client is, and what goes wrong is known before the
// answer begins.
type spool struct {
	dir  string
	mem  bytes.Buffer
	file *os.File // nil: all is in mem
	size int64
	name string // of the file, where it could not be removed yet
}

// newSpool returns a spool with its file in dir, "" for where temporary files
// are. It must be closed.
func newSpool(dir string) *spool { return &spool{dir: dir} }

func (s *spool) Write(p []byte) (n int, err error) {
	if s.file == nil && s.mem.Len()+len(p) > spoolMemory {
		if err := s.create(); err != nil {
			return 0, diskError(err)
		}
	}
	if s.file == nil {
		n, err = s.mem.Write(p)
	} else {
		n, err = s.file.Write(p)
	}
	s.size += int64(n)
	return n, diskError(err)
}

// create moves what there is into a file.
func (s *spool) create() error {
	f, err := os.CreateTemp(s.dir, ".spool-*")
	if err != nil {
		return err
	}
	s.file = f
	if os.Remove(f.Name()) != nil { // not while it is open, on Windows
		s.name = f.Name()
	}
	_, err = f.Write(s.mem.Bytes())
	s.mem = bytes.Buffer{}
	return err
}

// diskError tells a full disk from other errors: it is the answer to an administrator who
// asks for more than fits. 507 and not 503: a client that tries again at once would fill
// the disk again.
func diskError(err error) error {
	if cause := durable.NoRoomCause(err); cause != "" {
		return &statusError{http.StatusInsufficientStorage, cause}
	}
	return err
}

// reader returns what was written.
func (s *spool) reader() (io.Reader, error) {
	if s.file == nil {
		return bytes.NewReader(s.mem.Bytes()), nil
	}
	_, err := s.file.Seek(0, io.SeekStart)
	return s.file, err
}

func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.name != "" {
		err = errors.Join(err, os.Remove(s.name))
	}
	return err
}
