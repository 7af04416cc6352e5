package logged

import (
	"errors"
	"sync"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// errUpkeep is wrapped by errors of upkeep.
var errUpkeep = errors.New("upkeep")

// maxOwed is how much upkeep may be owed, in full transactions that apply, while commits come
// faster than they can be applied.
const maxOwed = 64

// An upkeep is the upkeep of a store: what there is to do, in small transactions, with the
// entries that were applied.
//
// The work that is owed grows with what is applied. As long as commits come slowly enough,
// upkeep goes first, so the file does not grow by what was replaced. While commits come
// faster than that, they go first, up to maxOwed. Beyond that upkeep goes first again:
// layers wait for it, and commits are slowed down, so the file does not grow without a
// bound.
type upkeep struct {
	do     func(tx kv.Tx, entries int) (more bool, err error) // nil: there is none
	atOnce int                                                // entries of a transaction

	mu     sync.Mutex // taken behind that of the store
	some   bool       // there may be something to do
	failed bool       // so there is something to do later
	owed   int        // how many entries were applied without the upkeep that comes with them
}

// run does some of what is owed in a transaction of the file.
func (u *upkeep) run(tx kv.Tx) error {
	u.mu.Lock()
	entries := min(u.owed, u.atOnce)
	u.mu.Unlock()
	more, err := u.do(tx, entries)
	if err != nil {
		return errors.Join(errUpkeep, err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.some = more
	if u.owed -= entries; !more {
		u.owed = 0
	}
	return nil
}

// owe notes that so many entries were applied.
func (u *upkeep) owe(entries int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.do != nil {
		u.owed += entries
	}
}

// look says that there may be something to do.
func (u *upkeep) look() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.some = u.do != nil
}

// rest ends upkeep that has failed, until retry.
func (u *upkeep) rest() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failed, u.some = u.failed || u.some, false
}

// retry has upkeep that failed tried again.
func (u *upkeep) retry() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failed, u.some = false, u.failed || u.some
}

// Idle reports whether all commits are in the file, and nothing goes on in the background.
func Idle(s *Store) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	some, _ := s.upkeep.due(true)
	return s.frozen == nil && s.active.Empty() && !s.busy && !some
}

// due reports whether there may be something to do, and whether that comes before what was
// committed: if it is owed, and there is room for more commits or too much is owed.
func (u *upkeep) due(room bool) (some, first bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.some, u.some && u.owed > 0 && (room || u.owed > maxOwed*u.atOnce)
}
