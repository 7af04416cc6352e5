package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// A side is an operation that is repeated while there are posts.
type side struct {
	name  string
	every time.Duration
	do    func(ctx context.Context) error
}

// How often sides are done per second; exports and backups as often per interval.
const (
	soakCounters  = 2
	countsPerSec  = 20
	etagsPerSec   = 5
	queriesPerSec = 5
	copiesPer     = 6
)

func (s *soak) sides() []side {
	var asked atomic.Int64
	return []side{
		{"conditional request", time.Second / etagsPerSec, s.addIfMatch},
		{"conditional request", time.Second / etagsPerSec, s.addIfMatch},
		{"query", time.Second / queriesPerSec, func(ctx context.Context) error { return s.ask(ctx, asked.Add(1)) }},
		{"export", s.Every / copiesPer, s.export},
		{"backup", s.Every / copiesPer, s.backup},
	}
}

// repeat does a side until the load is over.
func (s *soak) repeat(ctx context.Context, side side) error {
	tick := time.NewTicker(side.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.ending:
			return nil
		case <-ctx.Done():
			return nil
		}
		if err := side.do(ctx); err != nil {
			return notInterrupted(ctx, fmt.Errorf("%s: %w", side.name, err))
		}
	}
}

// A counter adds one, over and over.
type counter struct {
	path  string
	acked atomic.Int64
}

func (s *soak) count(ctx context.Context, c *counter) error {
	return s.connected(ctx, func(conn *connect.Conn) error {
		return s.repeat(ctx, side{"increment", time.Second / countsPerSec, func(context.Context) error {
			err := conn.CallWithin(bench.PostTimeout, func(dst []byte, id int64) []byte { return wire.AppendPut(dst, id, c.path, increment) })
			if err == nil {
				c.acked.Add(1)
			}
			return err
		}})
	})
}

// addIfMatch reads a number and replaces it by the next one, unless another did
// so in between.
func (s *soak) addIfMatch(ctx context.Context) error {
	for {
		etag, n, err := s.Admin.GetTagged(ctx, "/"+etagPath)
		if err != nil {
			return err
		}
		switch stored, err := s.Admin.PutIf(ctx, "/"+etagPath, etag, fmt.Sprint(n+1)); {
		case err != nil:
			return err
		case stored:
			s.conditional.Add(1)
			return nil
		}
	}
}

// ask asks for some rows by their index.
func (s *soak) ask(ctx context.Context, seq int64) error {
	const length = 50
	n := bench.Rows{Rows: s.Rows}.First(seq, length)
	query := fmt.Sprintf(`orderBy="n"&startAt=%d&limitToFirst=%d`, n, length)
	text, err := s.Admin.Do(ctx, http.MethodGet, bench.RowsPath, strings.ReplaceAll(query, `"`, "%22"), nil)
	if err != nil {
		return err
	}
	var rows map[string]json.RawMessage
	if err := json.Unmarshal(text, &rows); err != nil {
		return err
	}
	if want := min(length, s.Rows-n); len(rows) != want {
		s.Fault("a query of rows %d to %d has %d rows", n, n+want-1, len(rows))
	}
	return nil
}

// export reads the whole database and looks at the streams in it: an export is
// of one moment, so each pointer points to the last message.
func (s *soak) export(ctx context.Context) error {
	floor := s.acked()
	var all struct {
		List map[string]map[string]json.RawMessage
		Last map[string]int64
	}
	err := s.Admin.Stream(ctx, "/", "format=export", func(r io.Reader) error { return json.NewDecoder(r).Decode(&all) })
	if err != nil {
		return err
	}
	for i, st := range s.streams {
		rows, last := all.List[st.name], all.Last[st.name]
		keys := slices.Sorted(maps.Keys(rows))
		if len(keys) != s.Keep || keys[len(keys)-1] != string(bench.AppendKey(nil, last)) || keys[0] != string(bench.AppendKey(nil, last-int64(s.Keep)+1)) {
			s.Fault("an export has %d messages of %s, the last one is said to be %d", len(keys), st.name, last)
		}
		if last < floor[i] {
			s.Fault("an export has message %d of %s, %d was acknowledged before", last, st.name, floor[i])
		}
	}
	s.interval.exports.Add(1)
	return nil
}

// acked returns what is acknowledged of each stream.
func (s *soak) acked() (all []int64) {
	for _, st := range s.streams {
		all = append(all, st.acked.Load())
	}
	return all
}

// backup reads the file of the database. Its size is that of the file.
func (s *soak) backup(ctx context.Context) error {
	err := s.Admin.Stream(ctx, "/.settings/backup", "", func(r io.Reader) error {
		size, err := io.Copy(io.Discard, r)
		s.interval.fileBytes.Store(size)
		return err
	})
	if err == nil {
		s.interval.backups.Add(1)
	}
	return err
}
