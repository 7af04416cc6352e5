package sync

import (
	"slices"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// An IndexStatus says what an index is for, how far it is, what it takes, and whether it is used.
type IndexStatus struct {
	Path        string         `json:"path"`         // of the node whose children it orders: "/rooms/$room"
	Order       string         `json:"orderBy"`      // as queries name it
	Rules       bool           `json:"rules"`        // an .indexOn of the rules declares it
	Definitions []string       `json:"definitions"`  // of the data document that need it
	State       declared.Phase `json:"state"`        // ready, building or off
	At          string         `json:"at,omitempty"` // the child that building has come to

	Entries     int   `json:"entries"` // of all indexes together, not more than declared.MaxEntries are counted
	EntryBytes  int64 `json:"entryBytes"`
	MoreEntries bool  `json:"moreEntries,omitempty"`

	Reads    uint64 `json:"reads"`              // since the database was opened
	LastRead int64  `json:"lastRead,omitempty"` // in milliseconds; 0: not since then
}

// Indexes returns all indexes of the database, with those that a definition has switched off.
func Indexes(d *Database) (list []IndexStatus, err error) {
	list = []IndexStatus{}
	err = d.snapshot(func(tx *store.Tx) error {
		r, data := d.rules.Load(), d.data.Load()
		for _, ix := range data.OffIndexes() {
			list = append(list, statusOfIndex(ix, r, data, declared.Off))
		}
		all, err := tx.Indexes().All()
		left := declared.MaxEntries
		for i := 0; i < len(all) && err == nil; i++ {
			st := statusOfIndex(all[i], r, data, declared.Ready)
			err = measureIndex(tx, all[i], &st, &left)
			list = append(list, st)
		}
		return err
	})
	return list, err
}

func statusOfIndex(ix store.Index, r *rules.Ruleset, data *declared.Data, state declared.Phase) IndexStatus {
	byRules := slices.ContainsFunc(r.AllIndexes(), func(i rules.IndexDef) bool { return i.Pattern == ix.Pattern && i.Order == ix.Order })
	return IndexStatus{Path: "/" + strings.TrimPrefix(ix.Pattern, "/"), Order: tree.OrderWords(ix.Order), Rules: byRules, Definitions: data.NeedIndex(ix), State: state}
}

// measureIndex adds what an index takes, and how far it is. left is how many entries may
// still be counted.
func measureIndex(tx *store.Tx, ix store.Index, st *IndexStatus, left *int) error {
	u, _, err := tx.Indexes().Usage(ix, *left)
	*left -= u.Entries
	st.Entries, st.EntryBytes, st.MoreEntries = u.Entries, u.Bytes, u.More
	if !u.Ready {
		st.State = declared.Building
	}
	if !u.At.IsRoot() {
		st.At = u.At.String()
	}
	use := tx.Indexes().Use(ix)
	if st.Reads = use.Reads; use.Last != (time.Time{}) {
		st.LastRead = use.Last.UnixMilli()
	}
	return err
}
