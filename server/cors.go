package server

import "net/http"

// Databases are protected by tokens, not by cookies, so every origin may ask
// (REST §9).
const (
	corsMethods = "GET, PUT, PATCH, POST, DELETE, OPTIONS, HEAD"
	corsHeaders = "Authorization, Content-Type, X-Firebase-ETag, If-Match, If-None-Match, X-HTTP-Method-Override, X-Firebase-AppCheck, X-Client-Version"
	corsExposed = "ETag, X-Firebase-Auth-Debug"
	corsMaxAge  = "3600"
)

// setCommonHeaders sets what every answer has, errors and streams included
// (REST §4.1).
func setCommonHeaders(h http.Header, r *http.Request) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", corsExposed)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age=31556926; includeSubDomains; preload")
	}
}

// preflight answers OPTIONS.
func (q *request) preflight() answer {
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
