package dogwood

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// An address is where a database is.
type address struct {
	secure    bool
	host      string // with port, if it is not the usual one
	namespace string // "" if the host names it
}

// parseAddress reads the URL of a database: https://shop.example.org, or
// http://127.0.0.1:9000?ns=shop. The schemes ws and wss do as well.
func parseAddress(text string) (a address, err error) {
	if text == "" {
		return a, fmt.Errorf("%w: there is no database URL", ErrInvalid)
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		rest = text
	}
	switch strings.ToLower(scheme) {
	case "https", "wss":
		a.secure = true
	case "http", "ws":
	default:
		found = false
	}
	if !found {
		return a, fmt.Errorf("%w: %s: a database URL begins with http:// or https://; did you mean %s://%s?", ErrInvalid, text, usualScheme(rest), rest)
	}
	u, err := url.Parse(text)
	if err != nil {
		return a, fmt.Errorf("database URL: %w", err)
	}
	if u.Host == "" {
		return a, fmt.Errorf("database URL %q: there is no host", text)
	}
	if strings.Trim(u.Path, "/") != "" {
		return a, fmt.Errorf("database URL %q: there is a path; use Ref(%q)", text, strings.Trim(u.Path, "/"))
	}
	a.host, a.namespace = u.Host, u.Query().Get("ns")
	if a.namespace == "" {
		a.namespace = hostNamespace(u.Hostname())
	}
	return a, nil
}

// usualScheme returns http for addresses of this machine and for those in digits,
// else https.
func usualScheme(rest string) string {
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" || net.ParseIP(strings.Trim(host, "[]")) != nil {
		return "http"
	}
	return "https"
}

// missing returns what to do about a database that the server does not have.
func (a address) missing() string {
	if a.namespace == "" {
		return fmt.Sprintf("%s has no default database; choose one with ?ns= in the URL", a.host)
	}
	return fmt.Sprintf("is there a database %q on %s? choose another with ?ns= in the URL", a.namespace, a.host)
}

// hostNamespace returns the namespace that a host names by its first label, ""
// for none (protocol §1.1).
func hostNamespace(host string) string {
	labels := strings.Split(host, ".")
	if len(labels) < 3 || net.ParseIP(host) != nil {
		return ""
	}
	return strings.ToLower(labels[0])
}

// socket returns the URL of a realtime connection.
func (a address) socket(h Handshake) string {
	u := url.URL{Scheme: "ws", Host: a.host, Path: "/.ws"}
	if a.secure {
		u.Scheme = "wss"
	}
	if h.Host != "" {
		u.Host = h.Host
	}
	q := url.Values{"v": {"5"}}
	if a.namespace != "" {
		q.Set("ns", a.namespace)
	}
	if h.LastSession != "" {
		q.Set("ls", h.LastSession)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// resource returns the URL of a read over REST.
func (a address) resource(r ReadRequest) string {
	u := url.URL{Scheme: "http", Host: a.host, Path: strings.TrimSuffix(r.Path, "/") + "/.json"}
	if a.secure {
		u.Scheme = "https"
	}
	q := url.Values{}
	if a.namespace != "" {
		q.Set("ns", a.namespace)
	}
	if isUserToken(r.Credential) {
		q.Set("auth", r.Credential)
	}
	switch {
	case r.Shallow:
		q.Set("shallow", "true")
	default:
		q.Set("format", "export")
	}
	if r.Readable {
		q.Set("readable", "true")
	}
	if r.Next != "" {
		q.Set("next", r.Next)
	}
	if r.Limit > 0 {
		q.Set("limitToFirst", strconv.Itoa(r.Limit))
		if !r.Shallow {
			q.Set("orderBy", `"$key"`)
		}
	}
	if r.After != "" {
		q.Set("startAfter", string(appendString(nil, r.After)))
	}
	u.RawQuery = q.Encode()
	return u.String()
}
