package demo

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// policy is what the page may do. There is no script, style or connection but those
// of its own server, and no text becomes markup or code. Its one sink, the address of
// the service worker, has a policy of that name in src/offline.ts.
var policy = strings.Join([]string{
	"default-src 'none'",
	"script-src 'self'",
	"style-src 'self'",
	"img-src 'self'",
	"worker-src 'self'",
	"base-uri 'none'",
	"form-action 'none'",
	"frame-ancestors 'none'",
	"require-trusted-types-for 'script'",
	"trusted-types dogwood",
	"connect-src 'self'",
}, "; ")

// plainHost matches hosts that can be put into a header and mean nothing else there. A
// bound of repetitions in the expression would cost each start of the program milliseconds.
var plainHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)
})

const longestHost = len("[]:65535") + 255

// setHeaders sets what all answers have. Not all browsers take 'self' for sockets, so
// the host that was asked is named as well.
func setHeaders(h http.Header, host string) {
	p := policy
	if len(host) <= longestHost && plainHost().MatchString(host) {
		p += " ws://" + host + " wss://" + host
	}
	h.Set("Content-Security-Policy", p)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-cache")
}
