package dogwood

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// Bounds of what a network may take.
const (
	handshakeTimeout = 30 * time.Second
	writeTimeout     = 30 * time.Second
	maxErrorBody     = 64 << 10
)

// A network is the Transport of Dial: a WebSocket, and REST for large reads.
// Large values come over REST, because a message of the realtime protocol
// delays everything behind it.
type network struct {
	address
	maxMessage int // bytes of one message of the server
	dial       func(ctx context.Context, network, address string) (net.Conn, error)
	dialer     websocket.Dialer
	http       http.Client
}

func newNetwork(a address, config *tls.Config, maxMessage int) *network {
	return &network{
		address: a, maxMessage: maxMessage, dial: new(net.Dialer).DialContext,
		dialer: websocket.Dialer{
			Proxy: http.ProxyFromEnvironment, HandshakeTimeout: handshakeTimeout, TLSClientConfig: config,
			ReadBufferSize: 32 << 10, WriteBufferSize: 32 << 10,
		},
		http: http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2,
			IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: handshakeTimeout,
		}},
	}
}

// Close lets go of idle connections.
func (n *network) Close() error {
	n.http.CloseIdleConnections()
	return nil
}

func (n *network) Connect(ctx context.Context, h Handshake) (Conn, error) {
	d := n.dialer
	var release func() bool // keeps the end of ctx from closing the connection
	listening := &ear{began: time.Now()}
	d.NetDialContext = func(dialing context.Context, network, address string) (net.Conn, error) {
		c, err := n.dial(dialing, network, address)
		if err != nil {
			return nil, err
		}
		release = context.AfterFunc(ctx, func() { c.Close() }) // for the handshake minds only the deadline
		listening.Conn = c
		return listening, nil
	}
	ws, resp, err := d.DialContext(ctx, n.socket(h), http.Header{"User-Agent": {"Firebase/5/dogwood/go/AdminNode"}})
	if release != nil && !release() {
		if err == nil {
			ws.Close()
		}
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
	if err != nil {
		if resp != nil {
			return nil, n.notUpgraded(resp)
		}
		return nil, n.unavailable(err)
	}
	ws.SetReadLimit(int64(n.maxMessage))
	return &socket{ear: listening, ws: ws, pieces: wire.Collector{MaxBytes: n.maxMessage}}, nil
}

// An ear notes when bytes come over a connection. So a message counts while it arrives, and so
// do the pings of the server, which come while a long request is still in buffers on its way.
type ear struct {
	net.Conn
	began time.Time
	last  atomic.Int64 // when the last bytes came, since began
}

func (e *ear) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	if n > 0 {
		e.last.Store(int64(time.Since(e.began)))
	}
	return n, err
}

// A socket is a Conn over a WebSocket.
type socket struct {
	ear    *ear // below ws
	ws     *websocket.Conn
	pieces wire.Collector
	frames [][]byte // of the message that is being sent
}

// MaxSend is what a server reads before it closes the connection.
func (s *socket) MaxSend() int { return wire.DefaultMaxBytes }

// Heard returns when the last bytes came.
func (s *socket) Heard() time.Time { return s.ear.began.Add(time.Duration(s.ear.last.Load())) }

func (s *socket) Send(msg []byte) (err error) {
	if s.frames, err = wire.AppendFrames(s.frames[:0], msg); err != nil {
		return err
	}
	for _, frame := range s.frames {
		if err := s.ws.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return err
		}
		if err := s.ws.WriteMessage(websocket.TextMessage, frame); err != nil {
			return err
		}
	}
	clear(s.frames)
	return nil
}

// Receive returns the next message. Its memory grows with the bytes that have arrived,
// not with the size that the server announces.
func (s *socket) Receive() ([]byte, error) {
	for {
		_, frame, err := s.ws.ReadMessage()
		if err != nil {
			return nil, s.tooBig(err)
		}
		msg, done, err := s.pieces.Add(string(frame))
		switch {
		case err != nil:
			return nil, s.tooBig(err)
		case done && len(msg) == len(frame): // it is the message
			return frame, nil
		case done:
			return []byte(msg), nil
		}
	}
}

// tooBig returns an error of receiving, as ErrTooBig if that is what is wrong.
func (s *socket) tooBig(err error) error {
	if errors.Is(err, websocket.ErrReadLimit) || errors.Is(err, wire.ErrTooLarge) {
		return fmt.Errorf("%w: a message of the server has more than %d bytes", ErrTooBig, s.pieces.MaxBytes)
	}
	return err
}

func (s *socket) Close() error { return s.ws.Close() }

// Read reads over REST.
func (n *network) Read(ctx context.Context, r ReadRequest) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.resource(r), nil)
	if err != nil {
		return nil, err
	}
	if r.Credential != "" && !isUserToken(r.Credential) {
		req.Header.Set("Authorization", "Bearer "+r.Credential)
	}
	resp, err := n.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, n.unavailable(errors.Unwrap(err)) // not the URL, which may have a credential
	}
	switch {
	case resp.StatusCode == http.StatusOK && r.Readable:
		return page(resp)
	case resp.StatusCode == http.StatusOK:
		return resp.Body, nil
	}
	defer resp.Body.Close()
	err = restError(r.Path, resp)
	e := (*Error)(nil)
	switch {
	case !errors.As(err, &e):
	case resp.StatusCode == http.StatusNotFound:
		e.Text, e.cause = n.missing(), ErrNoDatabase
	case wantsTLS(resp.StatusCode, e.Text):
		e.Text, e.cause = n.speaksTLS(), ErrUnavailable
	}
	return nil, err
}

// unavailable is the failure of a connection, with what to do if TLS is the cause.
func (n *network) unavailable(err error) error {
	var plain tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%w: %s does not speak TLS; use http://%s", ErrUnavailable, n.host, n.host)
	case errors.As(err, &certificate):
		return fmt.Errorf("%w: %w; pass the authority that signed it in Options.TLS", ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// notUpgraded is the error of an answer in place of a WebSocket.
func (n *network) notUpgraded(resp *http.Response) error {
	text, err := io.ReadAll(resp.Body) // the part that the dialer has read
	if err == nil && wantsTLS(resp.StatusCode, string(text)) {
		return fmt.Errorf("%w: %s", ErrUnavailable, n.speaksTLS())
	}
	return fmt.Errorf("%w: the server answered %s", ErrUnavailable, resp.Status)
}

// wantsTLS recognises the answers of servers in Go and of proxies to a client that does not
// speak TLS.
func wantsTLS(status int, text string) bool {
	return status == http.StatusBadRequest && (strings.Contains(text, "HTTPS server") || strings.Contains(text, "HTTPS port"))
}

func (n *network) speaksTLS() string {
	return fmt.Sprintf("%s speaks TLS; use https://%s", n.host, n.host)
}

// restError returns the error of an answer that is not ok (REST §8).
func restError(path string, resp *http.Response) error {
	e := &Error{Op: "read", Path: path, Status: resp.Status}
	var body struct{ Error string }
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err == nil && json.Unmarshal(text, &body) == nil {
		e.Text = body.Error
	} else if wantsTLS(resp.StatusCode, string(text)) {
		e.Text = string(text)
	}
	switch {
	case strings.Contains(e.Text, "auth token"), strings.Contains(e.Text, "Auth token"): // which could not be parsed, or has expired
		e.cause = ErrUnauthorized
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		e.cause = ErrPermissionDenied
	case strings.Contains(e.Text, "exceeds the maximum size"), strings.Contains(e.Text, "to be read at once"): // by a .limit in the rules
		e.cause = ErrTooBig
	case resp.StatusCode == http.StatusBadRequest:
		e.cause = ErrInvalid
	case resp.StatusCode >= 500:
		e.cause = ErrUnavailable
	}
	return e
}
