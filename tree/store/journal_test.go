package store

import (
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// TestCheckJournal: a record that lacks a piece is found.
func TestCheckJournal(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	put(t, s, func(tx *Tx) error { return tx.Journal().Append(1, make([]byte, 10_000)) })
	check(t, s)
	put(t, s, func(tx *Tx) error { return tx.delete(kv.Journal, append(idKey(1), 0, 0, 0, 1)) })
	findings, err := s.Check()
	if err != nil || len(findings) != 1 || !strings.Contains(findings[0].Error(), "piece is missing") {
		t.Errorf("Check() = %v, %v, want the piece that is missing", findings, err)
	}
}
