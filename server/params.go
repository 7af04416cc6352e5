package server

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// params are the parameters of a query string in the order they came. It is
// read by hand because the standard parser drops pairs with semicolons and
// refuses what curl users send unescaped (REST §1.3). It is a slice because
// most requests have one or two, for which a map would cost more than the
// search.
type params []param

type param struct{ name, value string }

// parseParams splits a query string at & only; the first = ends the name.
func parseParams(raw string) params { return appendParams(nil, raw) }

// appendParams is parseParams into memory that is there.
func appendParams(ps params, raw string) params {
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		ps = append(ps, param{unescapeQuery(name), unescapeQuery(value)})
	}
	return ps
}

// unescapeQuery decodes %XX and +. Text with a broken escape is taken as it is.
func unescapeQuery(s string) string {
	if t, err := url.QueryUnescape(s); err == nil {
		return t
	}
	return s
}

// get returns the first value of a parameter.
func (ps params) get(name string) (value string, ok bool) {
	for _, p := range ps {
		if p.name == name {
			return p.value, true
		}
	}
	return "", false
}

// fold is get for a name in any case.
func (ps params) fold(name string) string {
	for _, p := range ps {
		if strings.EqualFold(p.name, name) {
			return p.value
		}
	}
	return ""
}

// count returns how often a parameter was given.
func (ps params) count(name string) int {
	n := 0
	for _, p := range ps {
		if p.name == name {
			n++
		}
	}
	return n
}

// any returns the first of the names that was given, "" if none was.
func (ps params) any(names ...string) string {
	for _, name := range names {
		if _, ok := ps.get(name); ok {
			return name
		}
	}
	return ""
}

// splitNamespace undoes a mistake of the firebase CLI, which sends
// "/?ns=shop/.settings/rules.json?dryRun=true" for what should have been
// "/.settings/rules.json?ns=shop&dryRun=true" (REST §1.2, R-NS3). Other
// requests are returned as they are.
func splitNamespace(path, query string) (string, string) {
	if path != "/" {
		return path, query
	}
	for i, pair := range strings.Split(query, "&") {
		value, ok := strings.CutPrefix(pair, "ns=")
		if !ok {
			continue
		}
		ns, rest, found := strings.Cut(value, "/")
		if !found {
			break
		}
		rest, more, _ := strings.Cut(rest, "?")
		pairs := strings.Split(query, "&")
		pairs[i] = "ns=" + ns
		if more != "" {
			pairs[i] += "&" + more
		}
		return "/" + rest, strings.Join(pairs, "&")
	}
	return path, query
}

// readParams are the parameters that a read has, or that clients of Firebase send with one
// and that mean nothing to a server of one's own: ac is the token of App Check in the JS SDK,
// lastEventId what polyfills of EventSource have in place of the header (REST §1.3).
var readParams = []string{
	"auth", "access_token", "auth_variable_override", "ns", "x-http-method-override",
	"orderBy", "startAt", "startAfter", "endAt", "endBefore", "equalTo", "limitToFirst", "limitToLast",
	"shallow", "count", "explain", "children", "descending", "where", "maxVisited", "changes", "notify", "readable", "next",
	"print", "format", "callback", "download", "timeout",
	"writeSizeLimit", "disableTriggers", "dryRun", "import",
	"ac", "lastEventId", "v", "key", "alt", "prettyPrint", "quotaUser",
}

// cacheBusters are names under which pages send a number of their own, so that no cache
// answers. So do names that begin with an underscore.
var cacheBusters = []string{
	"cachebust", "cachebuster", "cache", "nocache", "no-cache", "cb", "nonce",
	"r", "rand", "random", "rnd", "t", "time", "timestamp", "ts",
}

// checkKnown refuses the first parameter of a read that has no meaning here.
func checkKnown(ps params) error {
	for _, p := range ps {
		known := p.name == "" || p.name[0] == '_' || slices.Contains(readParams, p.name) ||
			slices.ContainsFunc(cacheBusters, func(name string) bool { return strings.EqualFold(name, p.name) }) ||
			strings.EqualFold(p.name, "x-http-method-override")
		if !known {
			return badRequest("Unknown parameter " + strconv.Quote(shortened(p.name)))
		}
	}
	return nil
}

// shortened returns the beginning of a name, for an error text.
func shortened(name string) string {
	if len(name) > 64 {
		return strings.ToValidUTF8(name[:64], "") + "…"
	}
	return name
}
