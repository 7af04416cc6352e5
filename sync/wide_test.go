package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/dogwooddb/dogwood/sync/quota"
)

// TestWideWritesWait: an update of many paths waits in front of the queue while what was
// committed is put into the file. Small writes go on.
func TestWideWritesWait(t *testing.T) {
	o := Options{}
	inFile(t, &o)
	db := openTest(t, o)
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, `,"w/%d":1`, i)
	}
	wide := "{" + b.String()[1:] + "}"
	left, err := db.store.Room(t.Context(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := db.Write(gone, updateOf(t, "/", wide)); !errors.Is(err, context.Canceled) {
		t.Errorf("a wide write = %v, want %v", err, context.Canceled)
	}
	c := connect(t, db, "c", 0)
	defer c.session.Close()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		c.send(`{"r":1,"a":"m","b":{"p":"/","d":` + wide + `}}`)
	}()
	set(t, db, "/small", "1")
	want(t, db, "/w", "null")
	left()
	<-sent
	c.settle()
	want(t, db, "/w/499", "1")
	left, err = db.store.Room(gone, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	left()
	if _, err := db.Write(t.Context(), updateOf(t, "/", wide)); err != nil {
		t.Error(err)
	}
}

// TestRoomTakesTurns: an address with one wide write waits for few of another address that has many.
func TestRoomTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 1 << 30 // so the next one waits
		var o Options
		inFile(t, &o)
		db := openTest(t, o)
		first, err := db.store.Room(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []*quota.Quota
		var waits sync.WaitGroup
		wait := func(q *quota.Quota) {
			waits.Go(func() {
				left, err := roomInTurn(t.Context(), &db.writer, q, all)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, q)
				mu.Unlock()
				left()
			})
		}
		many, one := quota.New(quota.Limits{}), quota.New(quota.Limits{})
		for i := range 101 {
			if wait(many); i == 50 {
				synctest.Wait()
				wait(one)
			}
			synctest.Wait() // so each waits behind those before it
		}
		first()
		waits.Wait()
		if at := slices.Index(order, one); at < 0 || at > 2 || len(order) != 102 {
			t.Errorf("%d of %d came before the write of another address", at, len(order))
		}
	})
}
