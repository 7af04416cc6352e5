package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/dogwooddb/dogwood/bench/connect"
)

// Import fills a database from a file, starts its server again if possible, and then reads
// and writes random rows. It measures the time and the memory that a database of this size
// takes.
type Import struct {
	Rows
	Indexed bool `json:"indexed"` // the index of n is declared before the import
	Sockets int  `json:"sockets"` // for the reads and writes, one at a time on each; 8
}

// A Server is a server that a run may stop and start again on the same data.
type Server interface {
	Stop() error
	Start(ctx context.Context) (Target, error)
}

func (Import) Name() string { return "import" }

func (w Import) About() (unit, rules string) {
	if w.Indexed {
		return "requests", RowRules
	}
	return "requests", openRules
}

func (w Import) Describe() string {
	indexed := ""
	if w.Indexed {
		indexed = " with an index"
	}
	return fmt.Sprintf("a file of %d rows%s; then GET and PUT over %d sockets", w.Rows.Rows, indexed, w.Sockets)
}

func (w Import) WithDefaults() (Workload, error) {
	err := errors.Join(Setting("rows", &w.Rows.Rows, 1_000_000, 1, MaxRows), Setting("sockets", &w.Sockets, 8, 1, MaxConnections))
	return w, err
}

func (w Import) Drive(ctx context.Context, r *Load) error {
	if r.Target.Secret == "" {
		return errors.New("imports need an administrator's credential")
	}
	if err := w.fill(ctx, r); err != nil {
		return err
	}
	if r.Server != nil {
		if err := w.restart(ctx, r); err != nil {
			return fmt.Errorf("start again: %w", err)
		}
	}
	watch, err := r.watchMemory(ctx, func() error { return w.use(ctx, r) })
	watch.measure(r, "in use")
	return err
}

// fill imports the rows from a file and notes how long that took.
func (w Import) fill(ctx context.Context, r *Load) error {
	file, err := w.file()
	if err != nil {
		return fmt.Errorf("make the file: %w", err)
	}
	defer func() { _ = errors.Join(file.Close(), os.Remove(file.Name())) }() // it is a temporary one
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var took time.Duration
	watch, err := r.watchMemory(ctx, func() (err error) {
		took, err = timed(func() error { return w.send(ctx, r, file, size) })
		return err
	})
	if err != nil {
		return fmt.Errorf("import %d rows: %w", w.Rows.Rows, err)
	}
	r.Measure("file", float64(size)/1e6, "MB")
	r.Measure("import", took.Seconds(), "s")
	watch.measure(r, "import")
	return nil
}

// file returns a temporary file with the rows.
func (w Import) file() (*os.File, error) {
	f, err := os.CreateTemp("", "dogwood-bench-*.json")
	if err != nil {
		return nil, err
	}
	if err := w.Rows.write(f); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

func (w Import) send(ctx context.Context, r *Load, file *os.File, size int64) error {
	_, err := r.Admin.Do(ctx, http.MethodPut, RowsPath, "writeSizeLimit=unlimited", io.NewSectionReader(file, 0, size))
	return err
}

// restart notes how long it takes until a server that was started again has
// answered its first read.
func (w Import) restart(ctx context.Context, r *Load) error {
	took, err := timed(r.Server.Stop)
	if err != nil {
		return err
	}
	r.Measure("stop", took.Seconds(), "s")
	took, err = timed(func() error {
		t, err := r.Server.Start(ctx)
		if err != nil {
			return err
		}
		r.Target, r.Admin = t, connect.NewAdmin(t)
		_, err = r.Admin.Do(ctx, http.MethodGet, w.path(0), "", nil)
		return err
	})
	r.Measure("start to first read", took.Seconds(), "s")
	return err
}

// path returns where the row is that comes seq-th, in no order.
func (w Import) path(seq int64) string {
	i := int64(w.permuted(int(seq % int64(w.Rows.Rows))))
	return string(AppendKey([]byte(RowsPath+"/"), i))
}

// use reads rows, and writes to one for every three that are read.
func (w Import) use(ctx context.Context, r *Load) error {
	return DriveREST(ctx, r, w.Sockets, func(dst []byte, n int, seq int64) []byte {
		path := w.path(seq*int64(w.Sockets) + int64(n))
		if seq%4 != 3 {
			return append(dst, connect.GetRequest(r.Target, path, "")...)
		}
		value := strconv.FormatInt(seq, 10)
		dst = append(dst, connect.RequestHead(r.Target, "PUT", path+"/a", "")...)
		dst = append(dst, "Content-Type: application/json\r\nContent-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(value)), 10)
		return append(append(dst, "\r\n\r\n"...), value...)
	})
}
