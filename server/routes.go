package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/server/peer"
)

// A handler answers one method of a route.
type handler func(*request) (answer, error)

type methods map[string]handler

// A route is a pattern with what answers it: raw for transports that take over
// the connection, methods for everything else. A * at one end of the pattern
// stands for any text.
type route struct {
	pattern string
	methods methods
	raw     http.HandlerFunc
}

// table is the whole surface of the server; the first match wins. There is no
// ServeMux because it redirects paths with double slashes (REST §17).
func (s *Server) table() []route {
	const get, put, post, patch, del = http.MethodGet, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete
	table := []route{
		{pattern: "/.ws", raw: s.rt.ServeWebSocket},
		{pattern: "/.ws/", raw: s.rt.ServeWebSocket},
		{pattern: "/.lp", raw: s.rt.ServePoll},
		{pattern: "/.lp/", raw: s.rt.ServePoll},

		{pattern: "/.settings/rules.json", methods: methods{get: s.getRules, put: s.putRules}},
		{pattern: "/.settings/rules/versions.json", methods: methods{get: s.getRulesVersions}},
		{pattern: "/.settings/rules/versions/*", methods: methods{get: s.getRulesVersion}},
		{pattern: "/.settings/rules/rollback.json", methods: methods{post: s.postRollback}},
		{pattern: "/.settings/defaultWriteSizeLimit.json", methods: methods{get: s.getWriteSizeLimit, put: s.putWriteSizeLimit}},
		{pattern: "/.settings/strictTriggerValidation.json", methods: methods{get: s.getTriggerValidation, put: s.putTriggerValidation}},
		{pattern: "/.settings/functionTriggers.json", methods: methods{post: s.putTriggers, put: s.putTriggers}},
		{pattern: "/.settings/now.json", methods: methods{get: s.getNow, put: s.putNow, post: s.notFound}},
		{pattern: "/.inspect/databases.json", methods: methods{get: s.getDatabases}},
		{pattern: "/.inspect/coverage", methods: methods{get: s.getCoverage}},
		{pattern: "/.inspect/coverage.json", methods: methods{get: s.getCoverageJSON}},
		{pattern: "/.settings/backup", methods: methods{get: s.getBackup}},
		{pattern: "/.settings/backup.json", methods: methods{get: s.getBackup}},
		{pattern: pathProfile, methods: methods{get: s.getProfile}},
		{pattern: pathTop, methods: methods{get: s.getTop}},
		{pattern: "/.settings/*", methods: methods{get: s.notFound, put: s.notFound, post: s.notFound}},
		{pattern: "/.inspect/*", methods: methods{get: s.notFound}},

		{pattern: pathHealth, methods: methods{get: s.getHealth}},
		{pattern: pathReady, methods: methods{get: s.getReady}},
		{pattern: pathMetrics, methods: methods{get: s.getMetrics}},

		{pattern: "/token", methods: methods{post: s.postToken}},

		{pattern: "/emulators", methods: methods{get: s.getEmulators}},
		{pattern: "/functions/*", methods: methods{put: s.putFunctions}},
		{pattern: "/v1beta/projects/*", methods: methods{get: s.getInstances, post: s.postInstance}},

		{pattern: pathBatch, methods: methods{post: s.postBatch}},
		{pattern: dataPattern, methods: methods{get: s.getData, put: s.putData, post: s.post, patch: s.patch, del: s.remove}},
	}
	if s.opts.Dev && s.opts.Demo != nil {
		table = append(table,
			route{pattern: "/demo", raw: s.opts.Demo.ServeHTTP},
			route{pattern: "/demo/*", raw: s.opts.Demo.ServeHTTP})
	}
	return append(table,
		route{pattern: "/", methods: methods{get: s.front}},
		route{pattern: "*", methods: methods{get: s.noSuffix, put: s.noSuffix, post: s.noSuffix, patch: s.noSuffix, del: s.noSuffix}})
}

// dataPattern matches what is below the root of a database.
const dataPattern = "*.json"

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

// serve answers one request. It is the only place where an error becomes a
// response and a log line.
func (s *Server) serve(w *observed, r *http.Request) {
	q := &w.request
	q.init(s, w, r)
	defer q.release()
	rt := s.routeOf(q.path)
	w.is(rt.pattern, q.method)
	v := &q.visit
	err := s.peers.Enter(v, r, isProbe(rt.pattern))
	defer v.Leave()
	if v.Excess() {
		w.Header().Set("Connection", "close")
	}
	if err != nil {
		q.tooMany(rt)
		return
	}
	if err := s.gate.refuse(q, rt); err != nil {
		q.refuseForeign(err)
		return
	}
	if rt.raw != nil {
		rt.raw(w, peer.WithRequest(r, v))
		return
	}
	q.countFor(v.Client())
	setCommonHeaders(w.Header(), r)
	a, err := s.answerTo(q, rt)
	if err != nil {
		a = q.failure(err)
	}
	q.releaseBody() // the answer may take long to send, and does not need it
	q.send(a)
}

func (s *Server) routeOf(path string) *route {
	for i := range s.routes {
		if s.routes[i].match(path) {
			return &s.routes[i]
		}
	}
	panic("server: no route matches " + path) // the last one matches everything
}

func (s *Server) answerTo(q *request, rt *route) (answer, error) {
	if len(q.r.RequestURI) > s.opts.MaxURLBytes {
		return answer{}, errURLTooLong
	}
	if q.r.Method == http.MethodOptions {
		return q.preflight(), nil
	}
	method := q.method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	h, ok := rt.methods[method]
	if !ok {
		q.w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(rt.methods)), ", "))
		return answer{}, errMethod
	}
	return h(q)
}
