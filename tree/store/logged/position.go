package logged

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/tree/store/kv"
	"github.com/dogwooddb/dogwood/tree/store/wal"
)

// ErrOtherLog is wrapped for a file with commits that are in another log.
var ErrOtherLog = errors.New("commits of the database are in another log")

// A position is how a file and a log belong together, and the last record that counts.
type position struct {
	log      uint64 // its owner
	database uint64 // in the log
	last     uint64
}

var positionKey = []byte("log") // in bucket m

func (p position) write(tx kv.Tx) error {
	b := binary.BigEndian.AppendUint64(nil, p.log)
	b = binary.BigEndian.AppendUint64(b, p.database)
	return tx.Put(kv.Meta, positionKey, binary.BigEndian.AppendUint64(b, p.last))
}

func readPosition(tx kv.Tx) (p position, there bool, err error) {
	b, err := tx.Get(kv.Meta, positionKey)
	if b == nil || err != nil {
		return p, false, err
	}
	if len(b) != 24 {
		return p, false, fmt.Errorf("%w: unreadable position in the log", kv.ErrDamaged)
	}
	be := binary.BigEndian
	return position{be.Uint64(b), be.Uint64(b[8:]), be.Uint64(b[16:])}, true, nil
}

// Open puts a log in front of a file that is open and started. Missing commits are taken
// from the log. The error wraps ErrOtherLog if the log does not have it.
func Open(file *kv.File, log *wal.Log, o Options) (*Store, error) {
	s := &Store{file: file, log: log, freeze: o.FreezeBytes, active: new(kv.Layer)}
	if s.freeze == 0 {
		s.freeze = defaultFreeze
	}
	tx, err := file.Begin(false)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	p, there, err := readPosition(tx)
	if err != nil {
		return nil, err
	}
	if s.needs, err = kv.NeedsLog(tx); err != nil {
		return nil, err
	}
	switch {
	case s.needs && (!there || p.log != log.Owner()):
		return nil, fmt.Errorf("%w: it needs log %016x, this one is %016x", ErrOtherLog, p.log, log.Owner())
	case s.needs:
		s.position = p
		return s, s.recover()
	case there && p.log == log.Owner() && log.Databases()[p.database] <= p.last:
		s.position = p
	default: // a new file, or a copy from a backup: nothing in the log is about it
		s.position = position{log: log.Owner(), database: randomID()}
	}
	return s, nil
}

func randomID() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// recover takes from the log what the file lacks.
func (s *Store) recover() error {
	if err := s.log.Release(s.position.database, s.position.last); err != nil {
		return err
	}
	for r, err := range s.log.Records(s.position.database, s.position.last) {
		if err != nil {
			return err
		}
		previous, err := decodeRows(r.Rows, s.active.Set)
		if err != nil {
			return fmt.Errorf("record %d: %w", r.Number, err)
		}
		if previous > s.position.last {
			return fmt.Errorf("%w: the log lacks record %d of the database", kv.ErrDamaged, previous)
		}
		s.position.last = r.Number
	}
	return nil
}

// needLog has the file say that it needs the log, which is there.
func (s *Store) needLog() error {
	if err := s.log.Prepare(); err != nil {
		return err
	}
	return s.setNeed(true)
}

func (s *Store) needNoLog() error { return s.setNeed(false) }

func (s *Store) setNeed(needs bool) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	err := s.update(func(tx kv.Tx) error {
		if err := kv.SetNeedsLog(tx, needs); err != nil {
			return err
		}
		return s.position.write(tx)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.needs = needs
	return nil
}
