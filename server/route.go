package server

import (
	"net/http"
	"strings"
)

// A route is a pattern with what answers it: raw for transports that take over
// the connection, methods for everything else. A * at one end of the pattern
// stands for any text.
//
// Who may ask is part of the table, not of each handler, so that it can be read in one
// place and no handler forgets it. Data decide for themselves: their order of checks
// depends on the method and is documented (REST §8).
type route struct {
	pattern string
	open    func(*request) error // decides who may ask, before methods; nil: they do
	methods methods
	raw     http.HandlerFunc
}

func (rt *route) match(path string) bool {
	p, last := rt.pattern, len(rt.pattern)-1
	switch {
	case p[last] == '*':
		return strings.HasPrefix(path, p[:last])
	case p[0] == '*':
		return strings.HasSuffix(path, p[1:])
	}
	return path == p
}

type methods map[string]handler

// dataPattern matches what is below the root of a database.
const dataPattern = "*.json"
