// Package client sends requests to the REST API of a server, follows its event streams, and
// has the flags that the commands of this kind share.
package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/build"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// Flags say which database a command is about, and on whose behalf.
type Flags struct {
	URL        string `group:"Server" help:"Address of the server." default:"http://localhost:9000"`
	Namespace  string `group:"Server" help:"Database on the server; --ns and --instance are other names for it." aliases:"ns,instance" placeholder:"NAME"`
	SecretFile string `group:"Server" help:"File that holds the admin secret or an access token. Without it, the environment variable DOGWOOD_SECRET is used." type:"path" placeholder:"FILE"`
	Profile    string `group:"Server" help:"Profile that dogwood login made: its address, its database and its secret. The secret is for no other server." placeholder:"NAME"`
	Owner      bool   `group:"Server" help:"Act as the owner of a development server, to whom no rules apply."`

	given   map[string]bool // names of the flags on the command line
	notices io.Writer       // gets a line when a server is slow; nil: none
	within  http.Handler    // answers instead of a server elsewhere; nil: none
}

// A Client sends requests to the REST API of one database.
//
// It is the REST client of the commands and not an SDK: an answer is copied or
// decoded as it is, errors have the server's words, and nothing is tried again,
// since a command that fails is repeated by its user.
type Client struct {
	http      *http.Client
	base      *url.URL // without a query
	Namespace string   // "" leaves the choice to the server
	Secret    string   // "" is anonymous
}

// Client returns a client for the database that the flags name.
func (f *Flags) Client() (*Client, error) { return f.patient(usualPatience) }

// patient returns a client that waits so long for a server to answer.
func (f *Flags) patient(patience time.Duration) (*Client, error) {
	to, err := f.target()
	if err != nil {
		return nil, err
	}
	next := http.DefaultTransport
	if f.within != nil {
		next = handlerTransport{f.within}
	}
	t := &patientTransport{next, patience, cmp.Or[io.Writer](f.notices, io.Discard)}
	c := &Client{http: &http.Client{Transport: t}, base: to.base, Namespace: to.namespace, Secret: to.secret}
	if to.bound {
		c.http.CheckRedirect = keepSecret
	}
	return c, nil
}

// Bulk returns a client for another database of the server. It waits as long as a server may
// take for all of a database.
func (f Flags) Bulk(namespace string) (*Client, error) {
	f.Namespace = namespace
	return f.patient(bulkPatience)
}

// ParseURL reads the address of a server, with or without the scheme and
// with nothing but ns in its query. Command lines are no place for secrets:
// every user of the machine can read them.
func ParseURL(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err == nil && (u.Scheme == "ws" || u.Scheme == "wss") {
		return nil, fmt.Errorf("--url %s: commands speak HTTP; write %s instead of %s", text, strings.Replace(u.Scheme, "ws", "http", 1), u.Scheme)
	}
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--url %s: not the address of a server, such as http://localhost:9000", text)
	}
	if u.User != nil {
		return nil, errors.New("--url: do not put a secret into an address; see --secret-file")
	}
	for name := range u.Query() {
		if name != "ns" {
			return nil, fmt.Errorf("--url: unexpected parameter %s; secrets go into --secret-file", name)
		}
	}
	u.Fragment = ""
	return u, nil
}

// credential returns the credential that the flags name, "" for none.
func (f *Flags) credential() (string, error) {
	switch {
	case f.Owner && f.SecretFile != "":
		return "", errors.New("--owner and --secret-file can't be used together")
	case f.Owner:
		return "owner", nil
	case f.SecretFile == "":
		return strings.TrimSpace(os.Getenv("DOGWOOD_SECRET")), nil
	}
	return ReadSecretFile(f.SecretFile)
}

// url returns the address of a path for requests.
func (c *Client) url(path string, query url.Values) string {
	q := url.Values{}
	for name, values := range query {
		q[name] = values
	}
	if c.Namespace != "" {
		q.Set("ns", c.Namespace)
	}
	u := c.Place(path) + ".json"
	if len(q) > 0 {
		u += "?" + q.Encode()
	}
	return u
}

// Place returns the address of a path for people.
func (c *Client) Place(path string) string {
	u := c.base.Scheme + "://" + c.base.Host + strings.TrimRight(c.base.EscapedPath(), "/") + "/"
	var keys []string
	for key := range strings.SplitSeq(path, "/") {
		if key != "" {
			keys = append(keys, url.PathEscape(key))
		}
	}
	return u + strings.Join(keys, "/")
}

// pathOf returns the path in the database that a request is about.
func (c *Client) pathOf(r *http.Request) string {
	path := strings.TrimPrefix(r.URL.Path, strings.TrimRight(c.base.Path, "/"))
	return strings.TrimSuffix(path, ".json")
}

// forbiddenIn says which character a path must not have, and where. It is "" if it is not a
// character that is wrong.
func forbiddenIn(path string) string {
	at := 0 // of the character in the path
	for key := range strings.SplitSeq(path, "/") {
		for i, c := range []rune(key) {
			if c == 0x7f || c < ' ' || strings.ContainsRune(".$#[]", c) {
				return fmt.Sprintf("the key %q cannot have %q (character %d of the path): keys have no . $ # [ ] / and no control characters", key, c, at+i+1)
			}
		}
		at += len([]rune(key)) + 1
	}
	return ""
}

// Media types of answers. A request that expects another one than JSON says so in its
// Accept header.
const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
	TypeBinary = "application/octet-stream"
	TypeLines  = "application/x-ndjson"
)

// expectBytes is the size from which a body waits for the server's consent: a
// server that refuses closes the connection, and its reason may be lost while
// we are still sending.
const expectBytes = 1 << 20

// Request returns a request about a path; p is nil if it has no body.
func (c *Client) Request(ctx context.Context, method, path string, query url.Values, p *payload) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url(path, query), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "dogwood/"+build.Version)
	if c.Secret != "" {
		r.Header.Set("Authorization", "Bearer "+c.Secret)
	}
	if p == nil {
		return r, nil
	}
	r.Header.Set("Content-Type", typeJSON)
	r.Body, r.ContentLength, r.GetBody = p, p.size, p.again
	if p.size < 0 || p.size >= expectBytes {
		r.Header.Set("Expect", "100-continue")
	}
	return r, nil
}

// do sends a request. It returns an error with advice unless the answer is a success.
func (c *Client) do(r *http.Request) (*http.Response, error) {
	resp, err := c.Answer(r)
	if err != nil || resp.StatusCode/100 == 2 {
		return resp, err
	}
	defer resp.Body.Close()
	return nil, c.Refusal(resp)
}

// Answer sends a request and returns what a database answers, a refusal too.
func (c *Client) Answer(r *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.unreachable(r.Context(), err)
	}
	if resp.StatusCode/100 == 2 && !isAnswer(r, resp) {
		resp.Body.Close()
		return nil, fmt.Errorf("%s does not answer as a Dogwood server does: is the port right? --url names another", c.Server())
	}
	return resp, nil
}

// isAnswer reports whether a success is one that a database sends to the request. Other
// programs answer 200 to everything too, and would make a write that never happened look
// like one that did.
func isAnswer(r *http.Request, resp *http.Response) bool {
	if r.URL.Query().Get("print") == "silent" {
		return resp.StatusCode == http.StatusNoContent
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == cmp.Or(r.Header.Get("Accept"), typeJSON)
}

// Server returns the address of the server for people.
func (c *Client) Server() string { return c.base.Scheme + "://" + c.base.Host }

// Call sends a request and copies the answer to w.
func (c *Client) Call(r *http.Request, w io.Writer) error {
	_, err := c.call(r, w)
	return err
}

// call is Call and returns the header of the answer.
func (c *Client) call(r *http.Request, w io.Writer) (http.Header, error) {
	resp, err := c.do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(w, resp.Body); err != nil {
		if r.Context().Err() != nil {
			return nil, console.ErrInterrupted
		}
		return nil, fmt.Errorf("the answer broke off: %w", err)
	}
	return resp.Header, nil
}

// Read sends a request and reads the JSON of the answer into v. what names it in an error.
func (c *Client) Read(r *http.Request, what string, v any) error {
	var text bytes.Buffer
	if err := c.Call(r, &text); err != nil {
		return err
	}
	if err := json.Unmarshal(text.Bytes(), v); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// unreachable explains why there is no answer.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return console.ErrInterrupted
	}
	if e := (*url.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		if c.base.Port() == "" {
			return fmt.Errorf("no server at %s, which is port %s; name the port with --url, such as %[1]s:9000", c.Server(), usualPort(c.base))
		}
		return fmt.Errorf("no server at %s; start one with \"dogwood dev\", or name another with --url", c.Server())
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return fmt.Errorf("%s: %s", c.Server(), PlainServer(c.base))
	}
	if errors.As(err, new(x509.UnknownAuthorityError)) {
		return fmt.Errorf("%s: %w; if the certificate is your own, name its file in the environment variable SSL_CERT_FILE", c.Server(), err)
	}
	return fmt.Errorf("%s: %w", c.Server(), err)
}

// usualPort is the port of an address that does not name one.
func usualPort(u *url.URL) string {
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// PlainServer is what to do where a server does not speak TLS.
func PlainServer(u *url.URL) string {
	return "the server speaks plain HTTP, not TLS; write --url http://" + u.Host
}

// wantsTLS reports whether an answer is that of a server in Go that speaks TLS to a client
// that does not.
func wantsTLS(e *ServerError) bool {
	return e.Status == http.StatusBadRequest && strings.Contains(e.text, "HTTP request to an HTTPS server")
}

// A ServerError is an answer that is not a success.
type ServerError struct {
	Status int
	text   string // what the server said
	advice string // what to do, "" if the text says it all
}

func (e *ServerError) Error() string {
	if e.advice == "" {
		return e.text
	}
	return withoutStop(e.text) + "; " + e.advice
}

// withoutStop returns a sentence without its full stop. A dot after a space is a character
// that the sentence names.
func withoutStop(text string) string {
	if strings.HasSuffix(text, " .") {
		return text
	}
	return strings.TrimSuffix(text, ".")
}

// Refusal returns the error for an answer that is not a success.
func (c *Client) Refusal(resp *http.Response) *ServerError {
	e := &ServerError{Status: resp.StatusCode, text: errorText(resp)}
	switch {
	case wantsTLS(e):
		e.advice = "the server speaks TLS; write --url https://" + c.base.Host
	case e.Status == http.StatusBadRequest && strings.HasPrefix(e.text, "Invalid path"):
		e.advice = forbiddenIn(c.pathOf(resp.Request))
	case e.Status == http.StatusUnauthorized && c.Secret == "":
		e.advice = "pass the admin secret with --secret-file or in DOGWOOD_SECRET (--owner on a development server)"
	case e.Status == http.StatusUnauthorized:
		e.advice = "the server does not accept this secret"
	case e.Status == http.StatusNotFound && strings.HasPrefix(e.text, "There is no such "):
		// It is not the database that is missing.
	case e.Status == http.StatusNotFound && c.Namespace != "":
		e.advice = fmt.Sprintf("is there a database %q on this server? --namespace names another", c.Namespace)
	case e.Status == http.StatusNotFound:
		e.advice = "name a database with --namespace"
	case e.Status == http.StatusConflict && strings.HasSuffix(c.pathOf(resp.Request), "/backup"):
		e.advice = "export writes the values of a database to a file, and dev --data keeps it in one"
	case e.Status/100 == 3:
		e.advice = "the database is at " + resp.Header.Get("Location")
	case e.Status == http.StatusServiceUnavailable && !strings.Contains(e.text, "read-only"):
		e.advice = "try again"
	}
	return e
}

// errorText returns the error that an answer carries: the member of that name
// with the one that gives details, or else the beginning of its text, without what could confuse a terminal.
func errorText(resp *http.Response) string {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // a part is good enough
	var answer struct{ Error, Detail string }
	text := string(body)
	if json.Unmarshal(body, &answer) == nil && answer.Error != "" {
		text = answer.Error
		if answer.Detail != "" && resp.StatusCode != http.StatusNotFound { // of a database: Refusal names the flag
			text = withoutStop(text) + ": " + answer.Detail
		}
	}
	text = console.Printable(strings.TrimSpace(text))
	if text == "" || strings.HasPrefix(text, "<") {
		return "the server answered " + resp.Status
	}
	return text
}

// ReceiveBackup writes the data file that a server sends. A server on the same machine is asked
// not to compress it, which would only cost processor time. It is no method: each command would have it.
func ReceiveBackup(ctx context.Context, f Flags, w io.Writer) error {
	db, err := f.Bulk(f.Namespace)
	if err != nil {
		return err
	}
	r, err := db.Request(ctx, http.MethodGet, "/.settings/backup", nil, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", TypeBinary)
	db.Uncompressed(r)
	return db.Call(r, w)
}

// Uncompressed asks a server on this machine not to compress its answer.
func (c *Client) Uncompressed(r *http.Request) {
	if IsLoopback(c.base.Hostname()) {
		r.Header.Set("Accept-Encoding", "identity")
	}
}

// IsLoopback reports whether an address can be reached from this machine only.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
