package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/server/peer"
)

// A route is a pattern with what answers it: raw for transports that take over
// the connection, methods for everything else. A * at one end of the pattern
// stands for any text.
//
// The permission that a route needs is part of the table, not of each handler, so that it can
// be read in one place and no handler forgets it. Data decide for themselves: their order of checks
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

// Methods of routes.
const get, put, post, patch, del = http.MethodGet, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete

// settingsRoutes returns what administrators change and look at.
func settingsRoutes() []route {
	return []route{
		{pattern: "/.settings/rules.json", open: (*request).openSettings, methods: methods{get: getRules, put: putRules}},
		{pattern: "/.settings/rules/versions.json", open: (*request).openSettings, methods: methods{get: getRulesVersions}},
		{pattern: "/.settings/rules/versions/*", open: (*request).openSettings, methods: methods{get: getRulesVersion}},
		{pattern: "/.settings/rules/rollback.json", open: (*request).openSettings, methods: methods{post: postRollback}},
		{pattern: "/.settings/data.json", open: (*request).openSettings, methods: methods{get: getDataDocument, put: putDataDocument}},
		{pattern: "/.settings/data/versions.json", open: (*request).openSettings, methods: methods{get: getDataVersions}},
		{pattern: "/.settings/data/versions/*", open: (*request).openSettings, methods: methods{get: getDataVersion}},
		{pattern: "/.settings/data/rollback.json", open: (*request).openSettings, methods: methods{post: postDataRollback}},
		{pattern: "/.settings/data/status.json", open: (*request).openSettings, methods: methods{get: getDataStatus}},
		{pattern: "/.settings/data/*", open: (*request).openSettings, methods: methods{post: postDataVerb}},
		{pattern: "/.settings/defaultWriteSizeLimit.json", open: (*request).openSettings, methods: methods{get: getWriteSizeLimit, put: putWriteSizeLimit}},
		{pattern: "/.settings/strictTriggerValidation.json", open: (*request).openSettings, methods: methods{get: getTriggerValidation, put: putTriggerValidation}},
		{pattern: "/.settings/functionTriggers.json", open: (*request).openSettings, methods: methods{post: putTriggers, put: putTriggers}},
		{pattern: "/.settings/now.json", open: (*request).openClock, methods: methods{get: getNow, put: putNow, post: notFound}},
		{pattern: "/.inspect/databases.json", open: (*request).openAdmin, methods: methods{get: getDatabases}},
		{pattern: pathIndexes, open: (*request).openSettings, methods: methods{get: getIndexes}},
		{pattern: "/.inspect/coverage", open: (*request).openCoverage, methods: methods{get: getCoverage}},
		{pattern: "/.inspect/coverage.json", open: (*request).openCoverage, methods: methods{get: getCoverageJSON}},
		{pattern: "/.settings/backup", open: (*request).openSettings, methods: methods{get: getBackup}},
		{pattern: "/.settings/backup.json", open: (*request).openSettings, methods: methods{get: getBackup}},
		{pattern: pathLog, open: (*request).openSettings, methods: methods{get: getLog}},
		{pattern: pathProfile, open: (*request).openSettings, methods: methods{get: getProfile}},
		{pattern: pathTop, open: (*request).openAdmin, methods: methods{get: getTop}},
		{pattern: "/.settings/databases.json", open: (*request).openAdmin, methods: methods{get: listDatabases, post: postDatabase}},
		{pattern: "/.settings/databases/*", open: (*request).openAdmin, methods: methods{get: getDatabase, del: deleteDatabase}},
		{pattern: "/.settings/dropped/*", open: (*request).openAdmin, methods: methods{del: purgeDatabase}},
		{pattern: "/.settings/*", open: (*request).openAdmin, methods: methods{get: notFound, put: notFound, post: notFound}},
		{pattern: "/.inspect/*", open: (*request).openAdmin, methods: methods{get: notFound}},
	}
}

// table is the whole surface of the server; the first match wins. There is no
// ServeMux because it redirects paths with double slashes (REST §17).
func (s *Server) table() []route {
	table := append(settingsRoutes(), []route{
		{pattern: "/.ws", raw: s.rt.ServeWebSocket},
		{pattern: "/.ws/", raw: s.rt.ServeWebSocket},
		{pattern: "/.lp", raw: s.rt.ServePoll},
		{pattern: "/.lp/", raw: s.rt.ServePoll},

		{pattern: pathHealth, methods: methods{get: getHealth}},
		{pattern: pathReady, methods: methods{get: getReady}},
		{pattern: pathMetrics, open: (*request).openAdmin, methods: methods{get: getMetrics}},

		{pattern: "/token", methods: methods{post: postToken}},

		{pattern: "/emulators", open: (*request).openDev, methods: methods{get: getEmulators}},
		{pattern: "/functions/*", open: (*request).openDev, methods: methods{put: putFunctions}},
		{pattern: "/v1beta/projects/*", open: (*request).openDev, methods: methods{get: getInstances, post: postInstance}},

		{pattern: pathBatch, methods: methods{post: postBatch}},
		{pattern: dataPattern, methods: methods{get: getData, put: putData, post: postValue, patch: patchValue, del: deleteValue}},
	}...)
	if s.opts.Dev && s.opts.Demo != nil {
		table = append(table,
			route{pattern: "/demo", raw: s.opts.Demo.ServeHTTP},
			route{pattern: "/demo/*", raw: s.opts.Demo.ServeHTTP})
	}
	return append(table,
		route{pattern: "/", methods: methods{get: getFront}},
		route{pattern: "*", methods: methods{get: noSuffix, put: noSuffix, post: noSuffix, patch: noSuffix, del: noSuffix}})
}

// serve answers one request. It is the only place where an error becomes a
// response and a log line.
//
// The steps for every request: the route, admission by address, the gate, and
// then the handler with the permission that its route needs, and the answer.
// Transports that take over the connection get it after the gate. A panic is
// caught above by net/http, which ends the connection; databases guard their
// own state against it.
func (s *Server) serve(w *observed, r *http.Request) {
	q := &w.request
	q.init(s, w, r)
	defer q.leave()
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
		refuseTooMany(q, rt)
		return
	}
	if err := s.gate.refuse(q, rt); err != nil {
		refuseForeign(q, err)
		return
	}
	if rt.raw != nil {
		rt.raw(w, peer.WithRequest(r, v))
		return
	}
	q.countFor(v.Client())
	setCommonHeaders(w.Header(), r)
	a, err := answerTo(q, rt)
	if err != nil {
		a = failureAnswer(q, err)
	}
	q.releaseBody() // the answer may take long to send, and does not need it
	sendAnswer(q, a)
}

func (s *Server) routeOf(path string) *route {
	for i := range s.routes {
		if s.routes[i].match(path) {
			return &s.routes[i]
		}
	}
	panic("server: no route matches " + path) // the last one matches everything
}

func answerTo(q *request, rt *route) (answer, error) {
	if len(q.r.RequestURI) > q.s.opts.MaxURLBytes {
		return answer{}, errURLTooLong
	}
	if q.r.Method == http.MethodOptions {
		return preflightAnswer(q), nil
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
	if rt.open != nil {
		if err := rt.open(q); err != nil {
			return answer{}, err
		}
	}
	return h(q)
}

// refuseTooMany answers a request that was not admitted, in the form of its route.
func refuseTooMany(q *request, rt *route) {
	if rt.raw == nil {
		setCommonHeaders(q.w.Header(), q.r)
		sendAnswer(q, failureAnswer(q, peer.ErrTooMany))
		return
	}
	refuseAddress(q.w)
}
