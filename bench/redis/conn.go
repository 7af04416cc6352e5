package redis

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/dogwooddb/dogwood/bench"
)

// A Conn is a connection to Redis (RESP2) whose requests have replies of one line. One
// goroutine may send while another reads.
type Conn struct {
	net net.Conn
	br  *bufio.Reader
	out []byte // requests that wait to be sent
}

var _ bench.Exchange = (*Conn)(nil)

// readBuffer has room for the replies of a whole pipeline.
const readBuffer = 32 << 10

// Dial connects to host:port.
func Dial(ctx context.Context, address string) (*Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to Redis: %w", err)
	}
	return &Conn{net: c, br: bufio.NewReaderSize(c, readBuffer)}, nil
}

// Add queues a request.
func (c *Conn) Add(request []byte) { c.out = append(c.out, request...) }

// Flush sends all that is queued in one call.
func (c *Conn) Flush() error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.net.Write(c.out)
	c.out = c.out[:0]
	return err
}

// errBadReply is for what is not a reply of one line.
var errBadReply = errors.New("not a reply of one line")

// Next returns the next reply with its first character, which says what it is: "+OK". It is
// valid until the next call.
func (c *Conn) Next() ([]byte, error) {
	line, err := c.br.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("read a reply: %w", err)
	}
	line, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok || len(line) == 0 || !bytes.ContainsRune([]byte("+-:"), rune(line[0])) {
		return nil, fmt.Errorf("%w: %.100q", errBadReply, line)
	}
	return line, nil
}

// More reports whether the next reply has begun to arrive.
func (c *Conn) More() bool { return c.br.Buffered() > 0 }

// Close closes the connection, which nothing is left to lose on.
func (c *Conn) Close() { _ = c.net.Close() }

// Ping asks whether the server serves.
func (c *Conn) Ping() error {
	c.Add(appendCommand(nil, "PING"))
	if err := c.Flush(); err != nil {
		return err
	}
	reply, err := c.Next()
	if err == nil && string(reply) != "+PONG" {
		err = fmt.Errorf("it answered a PING with %.100q", reply)
	}
	return err
}

// appendCommand appends a command in the form of requests, an array of bulk strings.
func appendCommand[T string | []byte](dst []byte, words ...T) []byte {
	dst = strconv.AppendInt(append(dst, '*'), int64(len(words)), 10)
	dst = append(dst, "\r\n"...)
	for _, w := range words {
		dst = strconv.AppendInt(append(dst, '$'), int64(len(w)), 10)
		dst = append(append(append(dst, "\r\n"...), w...), "\r\n"...)
	}
	return dst
}
