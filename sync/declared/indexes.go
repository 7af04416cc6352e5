package declared

import (
	"slices"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// An IndexStatus says what an index is for, how far it is, what it takes, and whether it is read.
type IndexStatus struct {
	Path        string   `json:"path"`         // of the node whose children it orders: "/rooms/$room"
	Order       string   `json:"orderBy"`      // as queries name it
	Rules       bool     `json:"rules"`        // an .indexOn of the rules declares it
	Definitions []string `json:"definitions"`  // of the data document that need it
	State       Phase    `json:"state"`        // ready, building or off
	At          string   `json:"at,omitempty"` // the child that building has come to

	Entries     int   `json:"entries"` // of all indexes together, not more than MaxEntries are counted
	EntryBytes  int64 `json:"entryBytes"`
	MoreEntries bool  `json:"moreEntries,omitempty"`

	Reads int64 `json:"reads"` // since the database was opened
	LastUse
}

// A LastUse says when an index was last read. That of an earlier run is right to the hour. Times are in milliseconds.
type LastUse struct {
	LastRead int64 `json:"lastRead,omitempty"` // 0: not since Since
	Since    int64 `json:"since,omitempty"`    // from when that is known; 0: from now
	Unused   bool  `json:"unused,omitempty"`   // for UnusedAfter; not of one that a bounded list needs
}

// UnusedAfter is how long an index is not read that is marked as unused.
const UnusedAfter = 30 * 24 * time.Hour

// lastUseOf returns the use of an index of a database with some data. An index is unused only if
// its use is known for all of UnusedAfter: one that was declared yesterday is not.
func lastUseOf(d *Data, tx *store.Tx, ix store.Index, now time.Time) LastUse {
	u := tx.Indexes().Use(ix)
	last, since := u.Last.Load(), u.Since.Load()
	known := since > 0 && now.UnixMilli()-max(last, since) >= UnusedAfter.Milliseconds()
	return LastUse{last, since, known && !d.bounds(ix)}
}

// AllIndexes returns the indexes that are kept, and those that a definition has switched off.
// Some are declared by the rules. All of them together count MaxEntries entries at most, as any
// number of indexes may be declared: the last ones of many show none, and MoreEntries.
func (d *Data) AllIndexes(tx *store.Tx, byRules []store.Index, now time.Time) ([]IndexStatus, error) {
	list := []IndexStatus{}
	for _, ix := range d.offIndexes() {
		list = append(list, IndexStatus{State: Off}.of(ix, d))
	}
	all, err := tx.Indexes().All()
	left := MaxEntries
	for i := 0; i < len(all) && err == nil; i++ {
		s := IndexStatus{State: Ready, Rules: slices.Contains(byRules, all[i])}.of(all[i], d)
		s.Reads, s.LastUse = tx.Indexes().Use(all[i]).Times.Load(), lastUseOf(d, tx, all[i], now)
		err = s.measure(tx, all[i], &left)
		list = append(list, s)
	}
	return list, err
}

// of says what the index is for.
func (s IndexStatus) of(ix store.Index, d *Data) IndexStatus {
	s.Path, s.Order, s.Definitions = "/"+strings.TrimPrefix(ix.Pattern, "/"), tree.OrderWords(ix.Order), []string{}
	for _, def := range d.Document().Definitions() {
		if def.Kind == derive.Index && indexOf(def) == ix || def.Kind == derive.Keep && listIndex(def) == ix {
			s.Definitions = append(s.Definitions, def.Name)
		}
	}
	return s
}

// measure adds what an index takes, and how far it is. left is how many
// entries may still be counted.
func (s *IndexStatus) measure(tx *store.Tx, ix store.Index, left *int) error {
	u, _, err := tx.Indexes().Usage(ix, *left)
	*left -= u.Entries
	s.Entries, s.EntryBytes, s.MoreEntries = u.Entries, u.Bytes, u.More
	if !u.Ready {
		s.State = Building
	}
	if !u.At.IsRoot() {
		s.At = u.At.String()
	}
	return err
}

// offIndexes returns the indexes of definitions that are switched off or paused.
func (d *Data) offIndexes() (list []store.Index) {
	for _, def := range d.Document().Definitions() {
		if def.Kind == derive.Index && !slices.Contains(d.indexes, indexOf(def)) {
			list = append(list, indexOf(def))
		}
	}
	return list
}

// listIndex returns the index that a bounded list needs.
func listIndex(def *derive.Definition) store.Index {
	return store.Index{Pattern: def.List()[1:], Order: def.OrderBy}
}
