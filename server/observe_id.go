package server

import (
	"math/rand/v2"
	"net/http"
)

// headerRequestID names a request, in the answer and in what the log says about it.
const headerRequestID = "X-Request-Id"

// maxRequestID is the length of the longest id that is taken from a client.
const maxRequestID = 64

// requestID returns the id that a proxy or client gave a request, or a new one if
// there is none that could stand in a log.
func requestID(h http.Header) string {
	id := h.Get(headerRequestID)
	if id == "" || len(id) > maxRequestID {
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

// requestOf returns the id of the request that w answers.
func requestOf(w http.ResponseWriter) string { return w.Header().Get(headerRequestID) }
