package sync

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/pending"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// Notes are what clients can observe of a batch, for the log. They belong to the committer,
// which uses their memory again; those of a batch that is rolled back are forgotten. Nil
// notes, as of a draft, take nothing.
//
// Every change of the tree, of write ids, of what sessions left, of rules, of settings and of declared
// data has to be noted, or a replica would differ.
//
// They are made while tasks are applied and belong to one attempt. Pieces of imports may be
// in a batch without a commit that clients can observe: then the entries go into the log, and
// the revision stays.
type notes struct {
	wanted  bool // there is a log that has them
	run     uint64
	encoder entry.Encoder
	some    bool     // something was noted
	commits bool     // and not only pieces, which have no effect of their own
	writes  uint32   // that were noted, and links
	id      entry.ID // of the write that is carried out
	hasID   bool     // and it was not noted
	at      int64    // the time of the batch, in milliseconds since 1970
	timed   bool     // it is known

	kept func(*entry.Kept) // notes a row of declared data
}

// newNotes returns the notes of a database that is opened.
func newNotes(wanted bool) notes { return notes{wanted: wanted, run: rand.Uint64()} }

// reset begins the notes of a batch. Rows of declared data are noted by the store, since a write
// changes them in many ways.
func (n *notes) reset(tx *store.Tx) {
	if n.kept == nil {
		n.kept = func(k *entry.Kept) { n.add(k) }
	}
	tx.NoteKept = n.kept
	n.some, n.commits, n.writes, n.hasID, n.timed = false, false, 0, false, false
	if n.wanted {
		n.encoder.Reset()
	}
}

// morePieces is how long the entries of a batch may be that has pieces alone, in bytes. They go
// into one record with one sync; one for each piece would take most of the time of an
// import.
const morePieces = 384 << 10

// full reports whether the batch should end.
func (n *notes) full() bool {
	if n.some && !n.commits {
		return n.encoder.Len() >= morePieces
	}
	return n.wanted && n.encoder.Full()
}

// time returns the time of the batch. It never goes back.
func (b *batch) time() time.Time {
	n := b.notes
	if n == nil {
		return b.db.options.Now()
	}
	if !n.timed {
		n.at, n.timed = max(n.at, b.db.options.Now().UnixMilli()), true
	}
	return time.UnixMilli(n.at)
}

// add notes an operation.
func (n *notes) add(op entry.Operation) {
	if n == nil {
		return
	}
	n.some, n.commits = true, true
	switch op.(type) {
	case *entry.Write, *entry.Join, *entry.Link:
		n.writes++
	}
	if n.wanted {
		n.encoder.Add(op)
	}
}

// piece notes a part, or a piece of an import, or that they are dropped.
func (n *notes) piece(op entry.Operation) {
	n.some = true
	n.encoder.Add(op)
}

// write notes a write that changed something. ready has its text in parts; nil: it has not.
func (n *notes) write(w *Write, v decidedWrite, writes []tree.ResolvedWrite, ready *prepared) {
	switch {
	case n == nil:
		return
	case ready != nil && ready.text.Sent > 0:
		n.add(&entry.Join{ID: ready.text.ID, Parts: ready.text.Sent})
		return
	}
	n.some, n.commits = true, true
	n.writes++
	if !n.wanted {
		n.hasID = false
		return
	}
	op := writeEntry(w, v, writes)
	if n.hasID {
		op.ID, n.hasID = &n.id, false
	}
	n.encoder.AddWrite(op)
}

// count returns how many writes were noted.
func (n *notes) count() uint32 {
	if n == nil {
		return 0
	}
	return n.writes
}

// begin notes the id of the write that is carried out next.
func (n *notes) begin(id store.WriteID) {
	if n != nil {
		n.id, n.hasID = entry.ID{Writer: id.Writer, Number: id.Number}, true
	}
}

// end notes that the write with the id was carried out. ok is false if it was refused.
func (n *notes) end(ok bool) {
	if n == nil {
		return
	}
	if n.hasID && ok {
		n.add(&entry.Seen{ID: n.id})
	}
	n.hasID = false
}

// rules notes a new version of the rules.
func (n *notes) rules(v versions.Version, source string) error {
	text, err := json.Marshal(v)
	n.add(&entry.Rules{Version: text, Source: source})
	return err
}

// data notes a new version of the data document.
func (n *notes) data(v versions.Version, source string) error {
	text, err := json.Marshal(v)
	n.add(&entry.Data{Version: text, Source: source})
	return err
}

// seal gives the entries of the batch to the log, and the transaction its revision. A batch of
// pieces has none: its entries belong to the commit that comes next. It is the last thing
// before the commit, because the checksum covers all operations.
func (n *notes) seal(b *batch) error {
	if before := b.db.data.Load(); b.data != before {
		text, err := declared.Since(before, b.data)
		if err != nil {
			return err
		}
		n.add(&entry.States{Changes: text})
	}
	if !n.some {
		return nil
	}
	b.time()
	s, before := b.db.store, b.Tx.Revision()
	var entries []byte
	if n.wanted {
		entries = n.encoder.Seal(entry.Header{Database: s.Database(), Run: n.run, Revision: before + 1, At: n.at, More: !n.commits})
	}
	revision, err := b.db.options.Change.Append(b.Ctx, s.String(), before, entries)
	if err != nil {
		return err
	}
	if revision != before+1 {
		return fmt.Errorf("the log gave a commit revision %d behind %d", revision, before)
	}
	if n.commits {
		b.Tx.SetRevision(revision)
		b.Revision = revision
	}
	b.Tx.SetChange(entries)
	return nil
}

func writeEntry(w *Write, v decidedWrite, writes []tree.ResolvedWrite) entry.Write {
	op := entry.Write{Writes: writes, By: by(w.Caller, w.Door, w.cause())}
	if w.Merge && !v.spreads() {
		op.Merge = &w.Base
	}
	return op
}

func by(c Caller, door, cause string) entry.By {
	return entry.By{UID: c.Auth.UID, Admin: c.Admin, Door: door, Cause: cause}
}

// Causes of writes in the log.
const (
	causeSet         = "set"
	causeUpdate      = "update"
	causeTransaction = "transaction" // a write with a condition
	causeDisconnect  = "onDisconnect"
	causeImport      = "import"
	causeExpire      = "expire" // nodes of declared data are due
	causeData        = "data"   // declared data are built
	causeSample      = "sample" // what a new database begins with
)

// Doors by which writes come, in the log.
const (
	DoorREST   = "rest"
	DoorSocket = "socket"
)

// cause returns what a write was asked for as.
func (w *Write) cause() string {
	switch {
	case w.internal != "":
		return w.internal
	case w.left != nil:
		return causeDisconnect
	case w.Merge:
		return causeUpdate
	case w.If != nil:
		return causeTransaction
	}
	return causeSet
}

// notedPending stores and notes what an edit changes.
type notedPending struct {
	store.Disconnects
	left entry.Left
}

func (p *notedPending) Put(o store.Pending) error {
	p.left.Put = append(p.left.Put, entry.Record{Number: o.Number, Text: o.Data})
	return p.Disconnects.Put(o)
}

func (p *notedPending) Delete(session string, number uint64) error {
	p.left.Delete = append(p.left.Delete, number)
	return p.Disconnects.Delete(session, number)
}

// save stores an edit of what a session leaves, and notes it.
func (b *batch) save(e *pending.Edit, session string) error {
	p := &notedPending{Disconnects: b.Tx.Disconnects(), left: entry.Left{Session: session}}
	if err := e.Save(p, session); err != nil {
		return err
	}
	if len(p.left.Put) > 0 || len(p.left.Delete) > 0 {
		b.notes.add(&p.left)
	}
	return nil
}
