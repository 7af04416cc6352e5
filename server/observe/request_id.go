package observe

import (
	"math/rand/v2"
	"net/http"
)

// HeaderRequestID names a request, in the answer and in what the log says about it.
const HeaderRequestID = "X-Request-Id"

// MaxRequestID is the length of the longest id that is taken from a client.
const MaxRequestID = 64

// RequestID returns the id that a proxy or client gave a request, or a new one if
// there is none that could stand in a log.
func RequestID(h http.Header) string {
	id := h.Get(HeaderRequestID)
	if id == "" || len(id) > MaxRequestID {
		return newRequestID()
	}
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' && c != '.' {
			return newRequestID()
		}
	}
	return id
}

// newRequestID returns 26 letters and digits, nearly 128 bits of chance. They tell
// requests apart and are no secret.
func newRequestID() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	var id [26]byte
	for half := range 2 {
		bits := rand.Uint64()
		for i := range len(id) / 2 {
			id[half*len(id)/2+i] = letters[bits%uint64(len(letters))]
			bits /= uint64(len(letters))
		}
	}
	return string(id[:])
}

// RequestOf returns the id of the request that w answers.
func RequestOf(w http.ResponseWriter) string { return w.Header().Get(HeaderRequestID) }
