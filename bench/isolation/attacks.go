package isolation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// attacks are all that Workload knows.
var attacks = []attack{
	{"hash-guesses", 8, guessHashes},
	{"small-writes", 8, floodWrites},
	{"large-puts", 4, putting(attackPath+"/large", "", tinyValues)},
	{"long-keys", 4, putting(attackPath+"/keys", "", longKeys)},
	{"wide-updates", 4, updating(widePaths(mostPaths, "1"), widePaths(mostPaths, "2"))},
	{"wide-removals", 4, updating(mostKeys("1"), mostKeys("null"))},
	{"refused-updates", 4, updating(widePaths(20*mostPaths, "1"))},
	{"deletes", 4, replaceTrees},
	{"explained-writes", 4, putting(attackPath+"/explained", "explain=true", tinyValues)},
	{"regular-expressions", 8, putting("/texts/t", "", longText)},
	{"readers", 6, readLarge},
	{"batches", 16, sendBatches},
	{"stale-puts", 8, putStale},
	{"unread-answers", 72, leaveUnread},
	{"unread-listens", 32, listenUnread},
	{"unread-events", 32, followUnread},
	{"windows", 8, listening(250, func(n int) string { return fmt.Sprintf(`{"i":".key","l":%d,"vf":"r"}`, n+1) })},
	{"unindexed-listens", 8, listening(250, func(n int) string { return fmt.Sprintf(`{"i":"text","l":%d,"vf":"l"}`, n+1) })},
	{"filters", 8, listening(12, func(n int) string {
		return fmt.Sprintf(`{"i":".key","w":"key != '%d' && data.child('text').val().matches(/(a?.?){0,80}(b?.?){0,70}[0-9]$/)"}`, n)
	})},
	{"on-disconnects", 8, leaveWrites},
	{"half-open-sockets", 8, openHalf},
	{"long-polls", 16, floodPolls},
	{"long-poll-pieces", 30, sendPieces},
	{"fat-headers", 16, sendHeaders},
	{"requests-and-probes", 64, floodRequests},
}

// requests sends REST requests over one connection, one after the other and again and again.
func (by *attacker) requests(ctx context.Context, requests ...[]byte) error {
	h, err := connect.DialHTTP(ctx, by.Target)
	if err != nil {
		return err
	}
	defer h.Close()
	defer context.AfterFunc(ctx, h.Close)()
	return by.repeatRequests(ctx, h, requests...)
}

// repeatRequests sends requests one after the other and again and again.
func (by *attacker) repeatRequests(ctx context.Context, h *connect.HTTPConn, requests ...[]byte) error {
	for n := 0; ctx.Err() == nil; n++ {
		status, _, err := h.Do(requests[n%len(requests)])
		if err != nil {
			return err
		}
		if by.sent.Add(1); status/100 != 2 {
			return fmt.Errorf("status %d", status)
		}
	}
	return nil
}

// signedIn is a request in the name of a user.
func (by *attacker) signedIn(method, path, query, body string) []byte {
	query = strings.TrimPrefix(query+"&print=silent&auth="+url.QueryEscape(by.Token), "&")
	head := connect.RequestHead(by.Target, method, path, query)
	if body == "" {
		return []byte(head + "\r\n")
	}
	return []byte(head + "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// putting is an attack by PUT requests with a large body.
func putting(path, query string, body func() string) func(context.Context, *attacker, int) error {
	return func(ctx context.Context, by *attacker, n int) error {
		return by.requests(ctx, by.signedIn("PUT", path+strconv.Itoa(n), query, body()))
	}
}

// The bodies of attacks, below the bound of 16 MiB of a write.
var (
	tinyValues = sync.OnceValue(func() string { return objectOf(1_000_000, "1", func(i int) string { return strconv.Itoa(i) }) })
	longKeys   = sync.OnceValue(func() string {
		return objectOf(20_000, "1", func(i int) string { return strings.Repeat("k", 700) + strconv.Itoa(i) })
	})
	longText = sync.OnceValue(func() string { return `"` + strings.Repeat("a", 8<<20) + `"` })
)

// mostPaths is how many paths an update may have. One with more is refused, but only after
// its paths were counted.
const mostPaths = 10_000

// widePaths is an update of paths in 100 objects.
func widePaths(n int, value string) func() string {
	return sync.OnceValue(func() string {
		return objectOf(n, value, func(i int) string { return strconv.Itoa(i%100) + "/" + strconv.Itoa(i) + "/x" })
	})
}

// mostKeys is an update of as many children of one node.
func mostKeys(value string) func() string {
	return sync.OnceValue(func() string {
		return objectOf(mostPaths, value, func(i int) string { return "key" + strconv.Itoa(i) })
	})
}

func objectOf(n int, value string, key func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"` + key(i) + `":` + value)
	}
	return "{" + b.String()[1:] + "}"
}

// updating is an attack by updates, one after the other.
func updating(bodies ...func() string) func(context.Context, *attacker, int) error {
	return func(ctx context.Context, by *attacker, n int) error {
		var requests [][]byte
		for _, body := range bodies {
			requests = append(requests, by.signedIn("PATCH", attackPath+"/wide"+strconv.Itoa(n), "", body()))
		}
		return by.requests(ctx, requests...)
	}
}

// readerAddresses is from how many addresses readLarge reads: one address alone leaves a half
// of the places for reads to the others.
const readerAddresses = 3

// readLarge reads a large node again and again, from several addresses.
func readLarge(ctx context.Context, by *attacker, n int) error {
	from := by.Target
	if first, err := netip.ParseAddr(from.From); err == nil {
		for range n % readerAddresses {
			first = first.Next()
		}
		from.From = first.String()
	}
	h, err := connect.DialHTTP(ctx, from)
	if err != nil {
		return err
	}
	defer h.Close()
	defer context.AfterFunc(ctx, h.Close)()
	return by.repeatRequests(ctx, h, []byte(connect.GetRequest(from, largePath, "")))
}

// replaceTrees writes trees and deletes them.
func replaceTrees(ctx context.Context, by *attacker, n int) error {
	path := attackPath + "/tree" + strconv.Itoa(n)
	return by.requests(ctx, by.signedIn("PUT", path, "", longKeys()), by.signedIn("DELETE", path, "", ""))
}

// connected gives f a realtime connection that is signed in. f sends; what comes is
// read and dropped, and counted if it is a refusal.
func (by *attacker) connected(ctx context.Context, f func(c *connect.Conn) error) error {
	c, err := connect.Dial(ctx, by.Target, connect.ReadBuffer)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, c.Close)()
	if err := c.SignIn(by.Token); err != nil {
		return err
	}
	read := make(chan error, 1)
	go func() { read <- by.drop(c) }()
	err = f(c)
	c.Close()
	return errors.Join(err, <-read)
}

// drop reads until the connection ends.
func (by *attacker) drop(c *connect.Conn) error {
	for {
		text, err := c.Next()
		if err != nil {
			return err
		}
		if bytes.Contains(text[:min(len(text), 100)], []byte(`"s":"`)) && !bytes.Contains(text[:min(len(text), 100)], []byte(`"s":"ok"`)) {
			by.refused.Add(1)
		}
	}
}

// sending is the part of an attack that sends requests without waiting for answers.
func (by *attacker) sending(ctx context.Context, build func(dst []byte, id int64) []byte) error {
	return by.connected(ctx, func(c *connect.Conn) error {
		var buf []byte
		for id := int64(10); ctx.Err() == nil; id++ {
			buf = build(buf[:0], id)
			if err := c.Send(buf); err != nil {
				return err
			}
			by.sent.Add(1)
		}
		return nil
	})
}

func guessHashes(ctx context.Context, by *attacker, _ int) error {
	return by.sending(ctx, func(dst []byte, id int64) []byte {
		return wire.AppendPutIf(dst, id, largePath, "1", fmt.Sprintf("guess%d", id))
	})
}

func floodWrites(ctx context.Context, by *attacker, n int) error {
	return by.sending(ctx, func(dst []byte, id int64) []byte {
		return wire.AppendPut(dst, id, fmt.Sprintf("%s/small%d/%d", attackPath, n, id%1000), "1")
	})
}

// leaveUnread asks for a large answer and does not read it.
func leaveUnread(ctx context.Context, by *attacker, _ int) error {
	c, err := connect.DialTCP(ctx, by.Target)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte(connect.GetRequest(by.Target, largePath, ""))); err != nil {
		return err
	}
	by.sent.Add(1)
	<-ctx.Done()
	return nil
}

// listenUnread listens to large views and reads nothing.
func listenUnread(ctx context.Context, by *attacker, _ int) error {
	c, err := connect.Dial(ctx, by.Target, connect.IdleBuffer)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, c.Close)()
	for id := int64(1); ctx.Err() == nil && id <= 1000; id++ {
		query := fmt.Sprintf(`{"i":".key","l":%d,"vf":"r"}`, largeRows-id)
		if err := c.Send(wire.AppendListen(nil, id, largePath, query, id, "")); err != nil {
			return err
		}
		by.sent.Add(1)
	}
	<-ctx.Done()
	return nil
}

// followUnread listens to many values over a connection each, reads nothing, and changes all
// of them again and again.
func followUnread(ctx context.Context, by *attacker, client int) error {
	path := fmt.Sprintf("%s/followed%d", attackPath, client)
	const followers = 24
	for i := range followers {
		c, err := connect.Dial(ctx, by.Target, connect.IdleBuffer)
		if err != nil {
			return err
		}
		defer c.Close()
		c.ReceiveLittle(connect.IdleBuffer)
		if err := c.SignIn(by.Token); err != nil {
			return err
		}
		if err := c.Send(wire.AppendListen(nil, 1, fmt.Sprintf("%s/%d", path, i), "", 0, "")); err != nil {
			return err
		}
	}
	values := func(from int) string {
		value := `"` + bench.Padding(from + 20_000)[from:] + `"`
		var b strings.Builder
		for i := range followers {
			fmt.Fprintf(&b, `,"%d":%s`, i, value)
		}
		return "{" + b.String()[1:] + "}"
	}
	return by.requests(ctx, by.signedIn("PATCH", path, "", values(0)), by.signedIn("PATCH", path, "", values(1)))
}

// listening is an attack by listens to what the bystander writes.
func listening(n int, query func(n int) string) func(context.Context, *attacker, int) error {
	return func(ctx context.Context, by *attacker, client int) error {
		return by.connected(ctx, func(c *connect.Conn) error {
			for i := range n {
				id := int64(i + 10)
				if err := c.Send(wire.AppendListen(nil, id, sharedPath, query(client*n+i), id, "")); err != nil {
					return err
				}
				by.sent.Add(1)
			}
			<-ctx.Done()
			return nil
		})
	}
}

// leaveWrites leaves writes for the disconnect, and disconnects.
func leaveWrites(ctx context.Context, by *attacker, n int) error {
	value := `"` + bench.Padding(20_000) + `"`
	return by.connected(ctx, func(c *connect.Conn) error {
		for id := int64(10); ctx.Err() == nil && id < 210; id++ {
			path := fmt.Sprintf("%s/left%d/%d", attackPath, n, id)
			if err := c.Send(wire.AppendDisconnect(nil, id, wire.ActionDisconnectPut, path, value)); err != nil {
				return err
			}
			by.sent.Add(1)
		}
		return nil
	})
}

// openHalf opens sockets and sends a part of a request.
func openHalf(ctx context.Context, by *attacker, n int) error {
	parts := []string{"", "GET / HTTP/1.1\r\nHost: ", "PUT /attack/half.json HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n{"}
	for i := range 250 {
		c, err := connect.DialTCP(ctx, by.Target)
		if err != nil {
			return err
		}
		defer c.Close()
		by.sent.Add(1)
		if _, err := c.Write([]byte(parts[(n+i)%len(parts)])); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// floodPolls begins sessions over long polling and leaves them.
func floodPolls(ctx context.Context, by *attacker, n int) error {
	resource := fmt.Sprintf("/.lp?start=t&ser=%d&cb=%d&v=5&ns=%s", n, n, url.QueryEscape(by.Target.Namespace))
	return by.requests(ctx, []byte(connect.RequestLine(by.Target, "GET", resource)+"\r\n"))
}
