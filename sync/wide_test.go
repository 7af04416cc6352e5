package sync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
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
