package server

import (
	"net/http"

	"github.com/dogwooddb/dogwood/server/observe"
)

// Databases are protected by tokens, not by cookies, so every origin may ask
// (REST §9).
const (
	corsMethods = "GET, PUT, PATCH, POST, DELETE, OPTIONS, HEAD"
	corsHeaders = "Authorization, Content-Type, X-Firebase-ETag, If-Match, If-None-Match, X-HTTP-Method-Override, X-Firebase-AppCheck, X-Client-Version"
	corsExposed = "ETag, X-Firebase-Auth-Debug, " + observe.HeaderRequestID
	corsMaxAge  = "3600"
)

// Values of headers that every answer has. They are shared, so nobody may change
// them in place; http.Header.Set and Add do not.
var (
	anyOrigin  = []string{"*"}
	exposed    = []string{corsExposed}
	noCache    = []string{"no-cache"}
	noSniff    = []string{"nosniff"}
	strictTLS  = []string{"max-age=31556926; includeSubDomains; preload"}
	jsonType   = []string{typeJSON}
	varyCoding = []string{"Accept-Encoding"}
)

// setCommonHeaders sets what every answer has, errors and streams included
// (REST §4.1). Its keys are in their canonical form.
func setCommonHeaders(h http.Header, r *http.Request) {
	h["Access-Control-Allow-Origin"] = anyOrigin
	h["Access-Control-Expose-Headers"] = exposed
	h["Cache-Control"] = noCache
	h["X-Content-Type-Options"] = noSniff
	if r.TLS != nil {
		h["Strict-Transport-Security"] = strictTLS
	}
}

// preflightAnswer answers OPTIONS.
func preflightAnswer(q *request) answer {
	h := q.w.Header()
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	if asked := q.r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
		h.Add("Vary", "Access-Control-Request-Headers")
	}
	h.Set("Access-Control-Max-Age", corsMaxAge)
	return answer{status: http.StatusOK, kind: typeText}
}
