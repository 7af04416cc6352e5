package isolation

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/connect"
)

// Attacks that need no sign-in: they leave unfinished what a server keeps before it knows who
// sends it, or ask for what costs little, as fast as it is answered.

// pollStart finds the id and the password in the answer that begins a session.
var pollStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\("start","(\w+)","(\w+)"\)`) })

// Pieces of the attack long-poll-pieces. A message of that many is below the bound of 16 MiB.
const (
	pollPieces    = 170
	pollPieceSize = 125_000
)

// sendPieces sends the pieces of a long message through long polling, and not the last ones.
// Its polls have falling serial numbers: only the first one waits for an answer.
func sendPieces(ctx context.Context, by *attacker, _ int) error {
	poll := "/.lp?ns=" + url.QueryEscape(by.Target.Namespace)
	answer, err := by.ask(ctx, poll+"&start=t&ser=1&cb=1&v=5")
	if err != nil {
		return err
	}
	session := pollStart().FindSubmatch(answer)
	if session == nil {
		return fmt.Errorf("no session in %.100q", answer)
	}
	poll += fmt.Sprintf("&id=%s&pw=%s&ser=", session[1], session[2])
	waiting, err := connect.DialTCP(ctx, by.Target)
	if err != nil {
		return err
	}
	defer waiting.Close()
	if _, err := io.WriteString(waiting, connect.RequestLine(by.Target, "GET", poll+"1000")+"\r\n"); err != nil {
		return err
	}
	data := strings.Repeat("A", pollPieceSize)
	for n := range pollPieces {
		request := fmt.Sprintf("%s%d&seg0=%d&ts0=%d&d0=%s", poll, 999-n, n, pollPieces+1, data)
		answer, err := by.ask(ctx, request)
		if err != nil {
			return err
		}
		if by.sent.Add(1); len(answer) > 0 { // the command to close
			return errors.New("the connection was ended")
		}
	}
	<-ctx.Done()
	return nil
}

// ask sends a request on a connection of its own, and returns the body of the answer.
func (by *attacker) ask(ctx context.Context, resource string) ([]byte, error) {
	c, err := connect.DialTCP(ctx, by.Target)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err := io.WriteString(c, connect.RequestLine(by.Target, "GET", resource)+"Connection: close\r\n\r\n"); err != nil {
		return nil, err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", r.StatusCode)
	}
	return io.ReadAll(r.Body)
}

// Headers of the attack fat-headers: very many, and long ones. Both are below 192 KiB.
var fatHeaders = sync.OnceValue(func() []string {
	return []string{manyLines(19_000, 0), manyLines(25, 7_000)}
})

func manyLines(n, size int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%05d:%s\r\n", i, strings.Repeat("x", size))
	}
	return b.String()
}

// How many connections of the attack fat-headers each client has, and for how long.
const (
	fatConnections = 50
	fatTime        = 5 * time.Second // less than servers wait for headers
)

// sendHeaders sends requests with as many headers as a server takes, which are finished event
// streams, or are not finished.
func sendHeaders(ctx context.Context, by *attacker, n int) error {
	fat := fatHeaders()
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for i := range fatConnections {
		c, err := connect.DialTCP(ctx, by.Target)
		if err != nil {
			return err
		}
		conns = append(conns, c)
		end := ""
		if i%2 == 0 {
			end = "\r\n"
		}
		head := connect.RequestHead(by.Target, "GET", largePath+"/none", "") + "Accept: text/event-stream\r\n"
		if _, err := io.WriteString(c, head+fat[(n+i/2)%len(fat)]+end); err != nil {
			by.refused.Add(1)
		}
		by.sent.Add(1)
	}
	bench.Sleep(ctx, fatTime)
	return nil
}

// floodRequests sends requests and probes over one connection, also when they are refused.
func floodRequests(ctx context.Context, by *attacker, _ int) error {
	h, err := connect.DialHTTP(ctx, by.Target)
	if err != nil {
		return err
	}
	defer h.Close()
	defer context.AfterFunc(ctx, h.Close)()
	requests := []string{connect.RequestHead(by.Target, "GET", attackPath+"/none", "")}
	for _, probe := range []string{"GET /healthz", "GET /readyz", "OPTIONS *"} {
		method, resource, _ := strings.Cut(probe, " ")
		requests = append(requests, connect.RequestLine(by.Target, method, resource))
	}
	for n := 0; ctx.Err() == nil; n++ {
		status, _, err := h.Do([]byte(requests[n%len(requests)] + "\r\n"))
		if err != nil {
			return err
		}
		if by.sent.Add(1); status/100 != 2 {
			by.refused.Add(1)
		}
	}
	return nil
}
