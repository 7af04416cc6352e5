package connect

import (
	"fmt"
	"net/url"
	"strings"
)

// A Target is a database on a server, with a credential for it.
type Target struct {
	URL       string // http://localhost:9000, without a path
	Namespace string // "" leaves the choice to the server

	// Secret is an administrator's credential: "owner" on a development server.
	// With it the database is given the rules that a workload needs; without it
	// the rules of the database must allow everything. The load itself is that of
	// ordinary clients, to which rules apply.
	Secret string

	PID int // of the server if it runs here, else 0

	From string // address to connect from; "" leaves the choice to the system
}

// owner is the credential of administrators in the emulator and in dev mode.
const owner = "owner"

// socketResource is what follows the host in the address of realtime
// connections (protocol §1.1).
func (t Target) socketResource() string {
	r := "/.ws?v=5"
	if t.Namespace != "" {
		r += "&ns=" + url.QueryEscape(t.Namespace)
	}
	return r
}

// resource is what follows the host in the address of a path. Paths of
// workloads need no escapes.
func (t Target) resource(path, query string) string {
	r := path + ".json"
	if t.Namespace != "" {
		query = strings.TrimPrefix(query+"&ns="+url.QueryEscape(t.Namespace), "&")
	}
	if query != "" {
		r += "?" + query
	}
	return r
}

// address returns the host and port to connect to, and whether with TLS.
func (t Target) address() (addr string, secure bool, err error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false, fmt.Errorf("%s: not the address of a server", t.URL)
	}
	secure = u.Scheme == "https"
	if u.Port() != "" {
		return u.Host, secure, nil
	}
	if secure {
		return u.Hostname() + ":443", true, nil
	}
	return u.Hostname() + ":80", false, nil
}
