package connect

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// DialTCP connects to the server, with TLS if its address says so.
func DialTCP(ctx context.Context, t Target) (net.Conn, error) {
	addr, secure, err := t.address()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{}
	if t.From != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(t.From)}
	}
	var c net.Conn
	if secure {
		c, err = (&tls.Dialer{NetDialer: dialer}).DialContext(ctx, "tcp", addr)
	} else {
		c, err = dialer.DialContext(ctx, "tcp", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return c, nil
}

var errNoWebSocket = errors.New("the server does not speak WebSocket here")

// handshake asks for a WebSocket (RFC 6455 §4.1). It is done here because the
// frames are: what a server sends right after it must not end up in the buffer
// of a library.
func handshake(w io.Writer, br *bufio.Reader, t Target) error {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails
	key := base64.StdEncoding.EncodeToString(nonce[:])
	request := RequestLine(t, http.MethodGet, t.socketResource()) +
		"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
		"User-Agent: Firebase/5/dogwood-bench/go/Node\r\nSec-WebSocket-Key: " + key + "\r\n\r\n"
	if _, err := io.WriteString(w, request); err != nil {
		return err
	}
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	if !strings.EqualFold(resp.Header.Get("Upgrade"), "websocket") || resp.Header.Get("Sec-WebSocket-Accept") != acceptKey(key) {
		return errNoWebSocket
	}
	return nil
}

// acceptKey is how a server proves that it has understood the request.
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}
