package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// A server with little memory stays below it while clients that have not signed in leave
// unfinished what it keeps: messages through long polling, and heads of requests.
func TestMemoryOfConnections(t *testing.T) {
	tier.Need(t, tier.Full)
	const limit = 192 << 20
	s, cmd := startSmall(t, limit)
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		leavePieces(t, u.Host)
	}
	var many, long strings.Builder
	for i := range 18_000 {
		fmt.Fprintf(&many, "a%05d:\r\n", i)
	}
	for i := range 9 {
		fmt.Fprintf(&long, "a%d: %s\r\n", i, strings.Repeat("x", 20_000))
	}
	for i := range 300 {
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		head := "GET /none.json HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
		io.WriteString(c, head+[]string{many.String(), long.String(), long.String() + "\r\n"}[i%3]) // it may be refused before all of it was sent
	}
	if status, _, _ := request(t.Context(), "PUT", s.url+"/small.json?print=silent", "", "1"); status != 204 {
		t.Errorf("a small write beside them: %d", status)
	}
	if size := anonymousPeak(t, cmd.Process.Pid); size > limit+limit/4 {
		t.Errorf("the server took %d MiB, and may take %d MiB", size>>20, limit>>20)
	}
	if err := s.stop(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, &s.stderr)
	}
}

var startOfPoll = pattern(`\("start","(\w+)","(\w+)"\)`)

// leavePieces sends 15 MB of a message through long polling, unless it is refused.
func leavePieces(t *testing.T, host string) {
	t.Helper()
	c, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	answers := bufio.NewReader(c)
	ask := func(query string) string {
		fmt.Fprintf(c, "GET /.lp?%s HTTP/1.1\r\nHost: localhost\r\n\r\n", query)
		r, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		answer, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	start := ask("start=t&ser=1&cb=1&v=5&ns=default")
	session := startOfPoll().FindStringSubmatch(start)
	if session == nil {
		t.Fatalf("no session in %.200q", start)
	}
	waiting, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	query := fmt.Sprintf("ns=default&id=%s&pw=%s&ser=", session[1], session[2])
	fmt.Fprintf(waiting, "GET /.lp?%s1000 HTTP/1.1\r\nHost: localhost\r\n\r\n", query)
	data := strings.Repeat("A", 125_000)
	for n := range 160 {
		if answer := ask(fmt.Sprintf("%s%d&seg0=%d&ts0=400&d0=%s", query, 999-n, n, data)); answer != "" {
			return // it was told to stop
		}
	}
}
