package server

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/server/observe"
)

// A gate keeps pages of foreign sites away from a server in Dev, which believes every
// credential. Browsers send requests to this machine for any page that they show, so
// listening on loopback is no protection from them. Two things tell such a page: the
// header Host has the name by which the page reached the server, which may be a name of
// its own that points here (DNS rebinding); and browsers say where the page is from,
// which the page cannot change. The gate comes before everything else that looks at a
// request. A nil gate lets everything in.
//
// It is not a defence of production servers: they believe no credential that a page could
// send by itself, since tokens are not cookies. Only a server that takes everyone for an
// administrator needs it.
type gate struct {
	hosts      []string // names and addresses that are allowed, with those of loopback
	anyAddress bool     // the server listens on all addresses
	origins    []string // that are allowed, with those of loopback and of hosts
	log        *slog.Logger
	began      time.Time
	lines      struct{ host, origin observe.LineLimiter }
}

// opaqueOrigin is what browsers send for a page that has no address of its own: a file,
// or a sandboxed frame, which every site can make.
const opaqueOrigin = "null"

// newGate returns the gate of a server, nil if it needs none.
func newGate(o Options) (*gate, error) {
	if !o.Dev {
		return nil, nil
	}
	g := &gate{log: o.Log, began: time.Now()}
	for _, name := range o.AllowHosts {
		host := strings.TrimSuffix(plainHost(name), ".")
		ip := net.ParseIP(host)
		if host == "" || ip != nil && ip.IsUnspecified() {
			g.anyAddress = true
			continue
		}
		g.hosts = append(g.hosts, host)
	}
	for _, text := range o.AllowOrigins {
		u, err := ParseOrigin(text)
		if err != nil {
			return nil, err
		}
		if u == nil {
			g.origins = append(g.origins, opaqueOrigin)
			continue
		}
		g.origins = append(g.origins, u.String())
		g.hosts = append(g.hosts, plainHost(u.Host))
	}
	return g, nil
}

// ParseOrigin reads an origin as browsers send it, such as http://localhost:3000. It
// returns nil for "null", the origin of files and sandboxed frames.
func ParseOrigin(text string) (*url.URL, error) {
	if text == opaqueOrigin {
		return nil, nil
	}
	u, err := url.Parse(strings.ToLower(text))
	if err != nil || u.Scheme == "" || u.Hostname() == "" || *u != (url.URL{Scheme: u.Scheme, Host: u.Host}) {
		return nil, fmt.Errorf("%q is not an origin such as https://app.example.org or http://localhost:3000", text)
	}
	if defaultPorts[u.Scheme] == u.Port() {
		u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	return u, nil
}

// defaultPorts are those that browsers leave out of origins.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// refuse returns why a request is not answered, nil if it is. A foreign page may read
// data without a credential and link to our pages, and nothing else; a foreign host
// nothing at all.
func (g *gate) refuse(q *request, rt *route) error {
	if g == nil {
		return nil
	}
	r := q.r
	if host := observe.Clipped(plainHost(r.Host)); !g.ownHost(host) {
		g.note(r, &g.lines.host, "--allow-host "+host)
		return &statusError{http.StatusForbidden, fmt.Sprintf("This development server does not answer requests for the host %q. If it is yours, start dogwood dev with --allow-host %[1]s.", host)}
	}
	if origin, foreign := g.foreign(r); foreign && !readsAsNobody(q, rt) && !isLinkToPage(q) {
		g.note(r, &g.lines.origin, "--allow-origin "+observe.Clipped(origin))
		return &statusError{http.StatusForbidden, fmt.Sprintf("This development server does not answer pages of the origin %q. If it is yours, start dogwood dev with --allow-origin %[1]s.", observe.Clipped(origin))}
	}
	return nil
}

// readsAsNobody reports whether a request only reads data of a database that exists, or
// asks whether it may (preflight), without a credential. The rules decide such a read as
// that of a client that is not signed in, and it changes nothing.
func readsAsNobody(q *request, rt *route) bool {
	switch {
	case rt.pattern != dataPattern:
		return false
	case q.method == http.MethodOptions:
		return true
	case q.method != http.MethodGet && q.method != http.MethodHead:
		return false
	case q.r.Header.Get("Authorization") != "" || wantsEvents(q.r.Header):
		return false
	}
	for _, name := range []string{"auth", "access_token"} {
		if _, there := q.params.get(name); there {
			return false
		}
	}
	name, err := q.s.spaces.resolve(q.params, q.r.Host)
	return err == nil && slices.Contains(q.s.spaces.names(), name)
}

// refuseForeign answers a request that the gate refused. No page may read that, and no
// cache may keep it.
func refuseForeign(q *request, why error) {
	h := q.w.Header()
	h["X-Content-Type-Options"] = noSniff
	h.Set("Cache-Control", "no-store")
	sendAnswer(q, failureAnswer(q, why))
}

// ownHost reports whether a name or an address is the server's. No site can have these
// names point here.
func (g *gate) ownHost(host string) bool {
	return isLoopbackHost(host) || g.isNamed(strings.TrimSuffix(host, ".")) || g.anyAddress && net.ParseIP(host) != nil
}

// isNamed reports whether the options name a host, whose final dot was cut off. Those of
// loopback must not have had one.
func (g *gate) isNamed(host string) bool {
	return slices.Contains(g.hosts, host) && !isLoopbackHost(host)
}

// foreign returns the origin of the page that a request comes from, and whether it is
// foreign. What is no browser sends no origin and is not foreign.
func (g *gate) foreign(r *http.Request) (origin string, foreign bool) {
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		origin = strings.Join(origins, ", ") // browsers send one
		return origin, !g.ownOrigin(origin, r)
	}
	site := r.Header.Get("Sec-Fetch-Site")
	referer := originOf(r.Header.Get("Referer")) // of a frame without an address it says nothing
	switch {
	case site == "same-origin", site == "none": // none: from the address bar
		return "", false
	case referer != opaqueOrigin:
		origin = referer
	case site == "", site == "same-site" && isLoopbackHost(plainHost(r.Host)):
		return "", false
	default: // a page that hides where it is from
		origin = opaqueOrigin
	}
	return origin, !g.ownOrigin(origin, r)
}

// isLinkToPage reports whether a browser follows a link to a page of ours. It shows that
// page in place of the one with the link, which learns nothing of it. It looks at the path
// that is routed, which may be another one than that of the URL.
func isLinkToPage(q *request) bool {
	h := q.r.Header
	return q.r.Method == http.MethodGet && len(h.Values("Origin")) == 0 &&
		h.Get("Sec-Fetch-Mode") == "navigate" && h.Get("Sec-Fetch-Dest") == "document" &&
		(q.path == "/" || q.path == "/demo" || q.path == "/demo/")
}

// ownOrigin reports whether pages of an origin may ask: those that this machine, or the
// server itself, served, and those that the options name.
func (g *gate) ownOrigin(origin string, r *http.Request) bool {
	u, err := ParseOrigin(origin)
	switch {
	case err != nil:
		return false
	case u == nil:
		return slices.Contains(g.origins, opaqueOrigin)
	case slices.Contains(g.origins, u.String()):
		return true
	case u.Scheme != "http" && u.Scheme != "https":
		return false
	}
	host := plainHost(u.Host)
	sameAddress := host == plainHost(r.Host) && net.ParseIP(host) != nil
	return isLoopbackHost(host) || sameAddress || u.Host == strings.ToLower(r.Host)
}

// originOf returns the origin of an address, the opaque one if it has none.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return opaqueOrigin
	}
	return u.Scheme + "://" + u.Host
}

// isLoopbackHost reports whether a name or an address always is this machine's, and
// browsers know that: they tell a server where a page is from only if they trust its host
// even without TLS. A loopback address of IPv4 written as one of IPv6, as in
// [::ffff:127.0.0.1], is none of these hosts, nor is a name with a final dot for all
// browsers.
func isLoopbackHost(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() && !ip.Is4In6() && ip.Zone() == ""
}

// plainHost returns the host of a Host header as names are compared: without port and
// brackets, in lower case.
func plainHost(hostport string) string {
	host := hostport
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		host = name
	} else if in, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(in, "]")
	}
	return strings.ToLower(host)
}

// note has the log say how to allow what was refused: the console of dev is where its
// developer looks, and browsers hide the answer from a foreign page.
func (g *gate) note(r *http.Request, line *observe.LineLimiter, flag string) {
	if count, ok := line.Next(time.Since(g.began)); ok {
		g.log.Warn("refused a page of a foreign site; if it is yours, start with this flag", "flag", flag, "path", observe.Clipped(r.URL.EscapedPath()), "count", count)
	}
}
