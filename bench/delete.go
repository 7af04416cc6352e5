package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dogwooddb/dogwood/bench/connect"
)

// Delete removes many rows at once, again and again. It counts from when the
// request is sent until a reader on another connection sees that nothing is left.
type Delete struct {
	Rows
}

func (Delete) Name() string                { return "delete" }
func (Delete) About() (unit, rules string) { return "deletes", RowRules }

func (w Delete) Describe() string {
	return fmt.Sprintf("a DELETE of %d leaves until a reader sees it", w.Rows.Rows*leavesOfRow)
}

func (w Delete) WithDefaults() (Workload, error) {
	err := w.setting()
	return w, err
}

func (w Delete) Drive(ctx context.Context, r *Load) error {
	if r.Target.Secret == "" {
		return errors.New("to load the rows needs an administrator's credential")
	}
	writer, err := connect.DialHTTP(ctx, r.Target)
	if err != nil {
		return err
	}
	defer writer.Close()
	reader, err := connect.DialHTTP(ctx, r.Target)
	if err != nil {
		return err
	}
	defer reader.Close()
	defer context.AfterFunc(ctx, func() { writer.Close(); reader.Close() })()
	d := deleting{Load: r, writer: writer, reader: reader}
	watch, err := r.watchMemory(ctx, func() error { return w.repeat(ctx, r, &d) })
	r.Measure("acknowledged after", MedianOf(d.acknowledged), "ms")
	watch.measure(r, "load and delete")
	return err
}

// repeat loads and deletes until the schedule ends. The time to load counts as
// time, but not in the latencies.
func (w Delete) repeat(ctx context.Context, r *Load, d *deleting) error {
	load := w.Load // the first time with a note of how long it takes
	for r.Begin(); ; load = w.put {
		if _, ok := r.Next(); !ok {
			return nil
		}
		err := load(ctx, r)
		if err == nil {
			err = d.once()
		}
		switch {
		case ctx.Err() != nil:
			return nil // it was interrupted
		case err != nil:
			return err
		}
	}
}

// A deleting is a Delete under way.
type deleting struct {
	*Load
	writer, reader *connect.HTTPConn
	acknowledged   []float64 // after so many milliseconds
}

// once deletes the rows and waits until the reader sees it.
func (d *deleting) once() error {
	seen := make(chan error, 1)
	sent := d.Now()
	go func() { seen <- d.look(sent) }()
	status, _, err := d.writer.Do([]byte(connect.RequestHead(d.Target, "DELETE", RowsPath, "") + "\r\n"))
	d.acknowledged = append(d.acknowledged, float64(d.Now()-sent)/float64(time.Millisecond))
	switch {
	case err != nil:
		d.reader.Close()
	case status != 200:
		d.reader.Close()
		err = fmt.Errorf("DELETE: status %d", status)
	}
	return errors.Join(err, <-seen)
}

// look reads one key of the rows until there is none.
func (d *deleting) look(sent time.Duration) error {
	request := []byte(connect.GetRequest(d.Target, RowsPath, "shallow=true&limitToFirst=1"))
	for {
		status, size, err := d.reader.Do(request)
		switch {
		case err != nil:
			return err
		case status != 200:
			return fmt.Errorf("look whether the rows are there: status %d", status)
		case size == int64(len("null")):
			d.Done(0, sent)
			return nil
		}
	}
}
