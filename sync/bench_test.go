package sync

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/pending"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// BenchmarkCommit is the rate of small durable writes by many clients at once.
func BenchmarkCommit(b *testing.B) {
	for _, clients := range []int{1, 64, 1024} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			db := openTest(b, Options{File: filepath.Join(b.TempDir(), "db")})
			writes := make(chan Write, clients)
			var done sync.WaitGroup
			for range clients {
				done.Go(func() {
					for w := range writes {
						if _, err := db.Write(context.Background(), w); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			n := 0
			for b.Loop() {
				writes <- putOf(b, fmt.Sprintf("/users/u%d", n%100_000), fmt.Sprintf(`{"name":"ana","online":true,"at":%d}`, n))
				n++
			}
			close(writes)
			done.Wait()
		})
	}
}

// benchmarkWrite measures a write in memory that others listen to, up to the
// queues of their outboxes, which nobody empties but to start again.
func benchmarkWrite(b *testing.B, db *Database, outboxes []*outbox.Outbox, write func(n int) Write) {
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := db.Write(context.Background(), write(n)); err != nil {
			b.Fatal(err)
		}
		if n++; n%100 == 0 {
			b.StopTimer()
			for _, o := range outboxes {
				o.Take(1 << 30)
			}
			b.StartTimer()
		}
	}
}

// BenchmarkPublish is a write that many listeners of one view hear.
func BenchmarkPublish(b *testing.B) {
	for _, listeners := range []int{0, 1, 1000} {
		b.Run(fmt.Sprint("listeners=", listeners), func(b *testing.B) {
			db := openTest(b, Options{})
			outboxes := listenAll(b, db, listeners, "/rooms/r1", "")
			benchmarkWrite(b, db, outboxes, func(n int) Write {
				return putOf(b, fmt.Sprintf("/rooms/r1/m%d", n%1000), fmt.Sprintf(`{"text":"hello","from":"ana","at":%d}`, n))
			})
		})
	}
}

// BenchmarkWindow is a new message in a chat of which a client follows the last
// 50: one comes in, one goes out.
func BenchmarkWindow(b *testing.B) {
	for _, messages := range []int{1000, 100_000} {
		b.Run(fmt.Sprint("messages=", messages), func(b *testing.B) {
			db := openTest(b, Options{})
			var members strings.Builder
			for i := range messages {
				fmt.Fprintf(&members, `"m%09d":{"text":"hello","from":"ana"},`, i)
			}
			set(b, db, "/chat", fmt.Sprintf(`{%s"a":1}`, members.String()))
			outboxes := listenAll(b, db, 1, "/chat", `,"q":{"i":".key","l":50,"vf":"r"},"t":1`)
			benchmarkWrite(b, db, outboxes, func(n int) Write {
				return putOf(b, fmt.Sprintf("/chat/m%09d", messages+n), `{"text":"hello","from":"ana"}`)
			})
		})
	}
}

// BenchmarkLargeMerge is one update of very many children below three kinds of
// listeners. Its cost per child must not grow with their number.
func BenchmarkLargeMerge(b *testing.B) {
	for _, children := range []int{1000, 30_000} {
		b.Run(fmt.Sprint("children=", children), func(b *testing.B) {
			db := openTest(b, Options{})
			outboxes := slices.Concat(
				listenAll(b, db, 1, "/l", ""),
				listenAll(b, db, 1, "/l", `,"q":{"i":".value","l":500,"vf":"r"},"t":1`),
				listenAll(b, db, 1, "/l", `,"q":{"i":".value","sp":5},"t":2`))
			writes := 0
			for b.Loop() {
				b.StopTimer()
				w := updateOf(b, "/l", manyMembers(children, writes))
				b.StartTimer()
				if _, err := db.Write(context.Background(), w); err != nil {
					b.Fatal(err)
				}
				for _, o := range outboxes {
					o.Take(1 << 30)
				}
				writes++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(writes*children), "ns/child")
		})
	}
}

// BenchmarkReplaceAbove is to replace a large node that many listen below.
func BenchmarkReplaceAbove(b *testing.B) {
	for _, listeners := range []int{100, 10_000} {
		b.Run(fmt.Sprint("listeners=", listeners), func(b *testing.B) {
			db := openTest(b, Options{})
			c := connect(b, db, "c", 0)
			b.Cleanup(c.session.Close)
			for i := range listeners {
				c.send(fmt.Sprintf(`{"r":1,"a":"q","b":{"p":"/l/k%d","h":""}}`, i))
				c.frames()
			}
			writes := 0
			for b.Loop() {
				b.StopTimer()
				w := putOf(b, "/l", manyMembers(10_000, writes))
				b.StartTimer()
				if _, err := db.Write(context.Background(), w); err != nil {
					b.Fatal(err)
				}
				c.out.Take(1 << 30)
				writes++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(writes*listeners), "ns/listener")
		})
	}
}

// manyMembers returns an object with n children, whose values depend on round.
func manyMembers(n, round int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":%d,`, i, i+round)
	}
	return "{" + strings.TrimSuffix(b.String(), ",") + "}"
}

// listenAll begins as many sessions that listen to one view.
func listenAll(b *testing.B, db *Database, n int, path, query string) []*outbox.Outbox {
	var outboxes []*outbox.Outbox
	for i := range n {
		c := connect(b, db, fmt.Sprint("c", i), 0)
		b.Cleanup(c.session.Close)
		c.send(fmt.Sprintf(`{"r":1,"a":"q","b":{"p":%q,"h":""%s}}`, path, query))
		c.frames()
		outboxes = append(outboxes, c.out)
	}
	return outboxes
}

// BenchmarkOnDisconnect is to register one more write for the disconnect, among
// none and among as many as a session may have.
func BenchmarkOnDisconnect(b *testing.B) {
	for _, pending := range []int{0, pending.MaxRecords - 1} {
		b.Run(fmt.Sprint("pending=", pending), func(b *testing.B) {
			db := openTest(b, Options{})
			c := connect(b, db, "a", 0)
			defer c.session.Close()
			var members strings.Builder
			for i := range pending {
				fmt.Fprintf(&members, `,"k%d":true`, i)
			}
			c.send(fmt.Sprintf(`{"r":1,"a":"om","b":{"p":"/presence","d":{%s}}}`, strings.TrimPrefix(members.String(), ",")))
			c.settle()
			c.frames()
			m, err := wire.ParseMessage(`{"t":"d","d":{"r":2,"a":"o","b":{"p":"/presence/k","d":false}}}`)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				c.session.Handle(context.Background(), m.Request)
				c.settle()
				c.out.Take(1 << 20)
			}
		})
	}
}

// BenchmarkChatPost is a post to a chat room, an update of three places, with
// rules that check it and with open ones.
func BenchmarkChatPost(b *testing.B) {
	chat, err := os.ReadFile("../bench/chat.rules.json")
	if err != nil {
		b.Fatal(err)
	}
	indexed := `{"rules":{".read":true,".write":true,"messages":{"$room":{".indexOn":["sent","sender"]}}}}`
	for _, c := range []struct{ name, rules string }{{"rules=chat", string(chat)}, {"rules=open", indexed}} {
		b.Run(c.name, func(b *testing.B) {
			now := time.UnixMilli(1_700_000_000_000)
			db := openTest(b, Options{Rules: parseRules(b, c.rules), Now: func() time.Time { return now }})
			set(b, db, "/", `{"rooms":{"r":{"name":"R","type":"public","owner":"ana","created":1}},
				"users":{"ana":{"name":"Ana","rooms":{"r":true}}},"members":{"r":{"ana":true}}}`)
			ana := Caller{Auth: rules.NewAuth(`{"uid":"ana","token":{"sub":"ana","iat":1,"exp":2}}`)}
			n := 0
			for b.Loop() {
				id := fmt.Sprintf("m%08d", n%1000)
				w := updateOf(b, "/", fmt.Sprintf(`{"messages/r/%[1]s":{"sender":"ana","message":"hello","sent":{".sv":"timestamp"}},
					"rooms/r/last":%[1]q,"users/ana/posted/r":%[1]q}`, id))
				w.Caller = ana
				if n >= 1000 {
					b.StopTimer()
					set(b, db, "/messages/r/"+id, "null")
					b.StartTimer()
				}
				if _, err := db.Write(context.Background(), w); err != nil {
					b.Fatal(err)
				}
				n++
			}
		})
	}
}
