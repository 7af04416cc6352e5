package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// An httpConn is a connection for one request after the other. It reads no more
// of a response than what keeps the connection usable, which takes a small part
// of the time of a general client.
type httpConn struct {
	net net.Conn
	br  *bufio.Reader
}

func dialHTTP(ctx context.Context, t Target) (*httpConn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	c, err := dialTCP(ctx, t)
	if err != nil {
		return nil, err
	}
	return &httpConn{net: c, br: bufio.NewReaderSize(c, 16<<10)}, nil
}

func (h *httpConn) close() { _ = h.net.Close() } // nothing is left to lose

// do sends a request and reads past the response. size is that of the body.
func (h *httpConn) do(request []byte) (status int, size int64, err error) {
	if _, err := h.net.Write(request); err != nil {
		return 0, 0, err
	}
	line, err := h.line()
	if err != nil {
		return 0, 0, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) || len(line) < 12 {
		return 0, 0, fmt.Errorf("%w: %.50q", errBadResponse, line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, fmt.Errorf("%w: %.50q", errBadResponse, line)
	}
	length, err := h.headers()
	switch {
	case err != nil:
		return 0, 0, err
	case status == 204 || status == 304:
		return status, 0, nil
	case length == chunked:
		size, err = h.chunks()
		return status, size, err
	case length < 0:
		return 0, 0, fmt.Errorf("%w: no length", errBadResponse)
	}
	_, err = h.br.Discard(int(length))
	return status, length, err
}

var errBadResponse = errors.New("bad response")

// Lengths of bodies that are not given by a header.
const (
	unknown = -1
	chunked = -2
)

// headers reads past the headers and returns the length of the body.
func (h *httpConn) headers() (length int64, err error) {
	length = unknown
	for {
		line, err := h.line()
		if err != nil || len(line) == 0 {
			return length, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case length != chunked && len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.ParseInt(string(value), 10, 48); err != nil || length < 0 {
				return 0, fmt.Errorf("%w: length %q", errBadResponse, value)
			}
		case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
			length = chunked
		}
	}
}

// chunks reads past a body in chunks.
func (h *httpConn) chunks() (size int64, err error) {
	for {
		line, err := h.line()
		if err != nil {
			return size, err
		}
		digits, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(digits)), 16, 48)
		if err != nil || n < 0 {
			return size, fmt.Errorf("%w: chunk %.20q", errBadResponse, line)
		}
		if n == 0 {
			_, err := h.headers() // trailers, which have the same form
			return size, err
		}
		if _, err := h.br.Discard(int(n) + len("\r\n")); err != nil {
			return size, err
		}
		size += n
	}
}

// line reads a line, which is valid until the next read.
func (h *httpConn) line() ([]byte, error) {
	line, err := h.br.ReadSlice('\n')
	if err == io.EOF && len(line) > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// requestHead returns a request up to the end of its headers, without those of a
// body.
func requestHead(t Target, method, path, query string) string {
	return requestLine(t, method, t.resource(path, query))
}

// requestLine returns the first line of a request and the header of the host.
func requestLine(t Target, method, resource string) string {
	host := strings.TrimPrefix(strings.TrimPrefix(t.URL, "http://"), "https://")
	return method + " " + resource + " HTTP/1.1\r\nHost: " + host + "\r\n"
}

func getRequest(t Target, path, query string) string {
	return requestHead(t, "GET", path, query) + "\r\n"
}

// driveREST sends requests over a number of sockets, one at a time on each,
// until the schedule ends. build appends the seq-th request of a socket.
func driveREST(ctx context.Context, r *run, sockets int, build func(dst []byte, socket int, seq int64) []byte) error {
	conns := make([]*httpConn, sockets)
	defer func() {
		for _, h := range conns {
			if h != nil {
				h.close()
			}
		}
	}()
	err := parallel(ctx, sockets, dialing, func(ctx context.Context, i int) (err error) {
		conns[i], err = dialHTTP(ctx, r.Target)
		return err
	})
	if err != nil {
		return err
	}
	r.begin()
	return parallel(ctx, sockets, sockets, func(ctx context.Context, i int) error {
		defer context.AfterFunc(ctx, conns[i].close)()
		return conns[i].drive(ctx, r, i, build)
	})
}

func (h *httpConn) drive(ctx context.Context, r *run, n int, build func(dst []byte, socket int, seq int64) []byte) error {
	var request []byte
	for seq := int64(0); ; seq++ {
		due, ok := r.next()
		if !ok || !r.wait(ctx, due) {
			return nil
		}
		request = build(request[:0], n, seq)
		status, _, err := h.do(request)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil // it was interrupted
		case err != nil:
			return err
		case status/100 == 2:
			r.done(n, due)
		default:
			r.failed(n, "status "+strconv.Itoa(status))
		}
	}
}
