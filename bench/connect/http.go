package connect

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

// An HTTPConn is a connection for one request after the other. It reads no more
// of a response than what keeps the connection usable, which takes a small part
// of the time of a general client.
type HTTPConn struct {
	net net.Conn
	br  *bufio.Reader
}

// DialHTTP connects to a target.
func DialHTTP(ctx context.Context, t Target) (*HTTPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	c, err := DialTCP(ctx, t)
	if err != nil {
		return nil, err
	}
	return &HTTPConn{net: c, br: bufio.NewReaderSize(c, 16<<10)}, nil
}

func (h *HTTPConn) Close() { _ = h.net.Close() } // nothing is left to lose

// Do sends a request and reads past the response. size is that of the body.
func (h *HTTPConn) Do(request []byte) (status int, size int64, err error) {
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
func (h *HTTPConn) headers() (length int64, err error) {
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
func (h *HTTPConn) chunks() (size int64, err error) {
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
func (h *HTTPConn) line() ([]byte, error) {
	line, err := h.br.ReadSlice('\n')
	if err == io.EOF && len(line) > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// RequestHead returns a request up to the end of its headers, without those of a
// body.
func RequestHead(t Target, method, path, query string) string {
	return RequestLine(t, method, t.resource(path, query))
}

// RequestLine returns the first line of a request and the header of the host.
func RequestLine(t Target, method, resource string) string {
	host := strings.TrimPrefix(strings.TrimPrefix(t.URL, "http://"), "https://")
	return method + " " + resource + " HTTP/1.1\r\nHost: " + host + "\r\n"
}

// GetRequest returns a GET request.
func GetRequest(t Target, path, query string) string {
	return RequestHead(t, "GET", path, query) + "\r\n"
}
