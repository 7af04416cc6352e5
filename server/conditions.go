package server

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// nullTag is the ETag of the absent node. All others are hashes.
const nullTag = "null_etag"

// tagHeader is X-Firebase-ETag in the form in which requests have it.
const tagHeader = "X-Firebase-Etag"

// conditions are the headers about ETags (REST §7). A tag is "" if its header
// is absent.
//
// ETags are the hashes that the realtime protocol compares (protocol §8.1). So
// a value has one name in both protocols, and a conditional write costs the
// store the same in both.
type conditions struct {
	wantTag bool   // X-Firebase-ETag
	match   string // If-Match
	none    string // If-None-Match, as it came: a tag, a list of them, or *
}

func parseConditions(h http.Header) conditions {
	return conditions{
		wantTag: strings.EqualFold(h.Get(tagHeader), "true"),
		match:   matchOf(h),
		none:    strings.Join(h.Values("If-None-Match"), ","),
	}
}

// emptyTag is a tag that no value has.
const emptyTag = `""`

// matchOf returns the tag of If-Match. One that is empty, such as that of a client which has no tag
// yet, is no tag of any value: the write must not be made as if there were no condition.
func matchOf(h http.Header) string {
	tags := h["If-Match"]
	if len(tags) == 0 {
		return ""
	}
	return cmp.Or(unquoteTag(tags[0]), emptyTag)
}

// unquoteTag accepts what proxies and HTTP libraries make of a tag.
func unquoteTag(tag string) string {
	if n := len(tag); n > 2 && tag[0] == '"' && tag[n-1] == '"' {
		return tag[1 : n-1]
	}
	return tag
}

// anyTag is the condition that there is something, whatever it is.
const anyTag = "*"

// has reports whether the client has n already: If-None-Match has its ETag, or is *
// and n is not absent (RFC 9110 §13.1.2). Whether a tag is weak does not matter. Hashes
// have no commas.
func (c conditions) has(n tree.Node) bool {
	switch strings.TrimSpace(c.none) {
	case "":
		return false
	case anyTag:
		return !n.IsEmpty()
	}
	tag := tagOf(n)
	for one := range strings.SplitSeq(c.none, ",") {
		if unquoteTag(strings.TrimPrefix(strings.TrimSpace(one), "W/")) == tag {
			return true
		}
	}
	return false
}

// check refuses combinations that the service does not have. If-None-Match goes
// with queries, too, which is an extension (docs/extensions.md).
func (c conditions) check(q *request) error {
	f := &q.form
	conditional := c.match != "" || c.none != ""
	reads := q.method == http.MethodGet || q.method == http.MethodHead
	replaces := q.method == http.MethodPut || q.method == http.MethodDelete
	switch {
	case c.wantTag && f.shallow:
		return badRequest("Mixing 'shallow' and etag requests is not supported")
	case c.wantTag && f.isQuery:
		return badRequest("Mixing querying parameters and ETag requests is not supported")
	case conditional && (f.shallow || f.silent || f.isQuery && c.match != ""):
		return badRequest("Mixing 'shallow', querying parameters or 'print=silent' and if-match or if-none-match requests is not supported")
	case c.match != "" && !replaces:
		return badRequest("if-match is not supported for " + q.method + " requests")
	case c.match != "" && q.target.Priority:
		return badRequest("if-match is not supported for priorities")
	case c.none != "" && !reads:
		return badRequest("if-none-match is not supported for " + q.method + " requests")
	case c.wantTag && q.method == http.MethodPatch:
		return badRequest("etag is not supported for PATCH requests")
	}
	return nil
}

// tagOf returns the ETag of a value and its priorities.
func tagOf(n tree.Node) string {
	if n.IsEmpty() {
		return nullTag
	}
	return n.Hash()
}

// tag returns the ETag to send with n, "" if the request does not ask for one.
func (c conditions) tag(n tree.Node) string {
	if c.wantTag || c.match != "" || c.none != "" {
		return tagOf(n)
	}
	return ""
}

// hash returns the hash that If-Match asks the current value to have, nil for
// an unconditional write.
func (c conditions) hash() *string {
	switch c.match {
	case "":
		return nil
	case nullTag:
		return new(string)
	}
	return &c.match
}
