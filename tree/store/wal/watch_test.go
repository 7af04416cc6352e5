package wal

import "testing"

// BenchmarkWatched is what it costs a group to find its files in their places, in addition to its sync.
func BenchmarkWatched(b *testing.B) {
	l, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Append(Record{Database: 1, Kind: FirstKind}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := l.watched.check(); err != nil {
			b.Fatal(err)
		}
	}
}
