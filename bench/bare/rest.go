package bare

import (
	"io"
	"net/http"
	"strconv"
)

// value is what every GET of a value answers: as long as the one that the
// generator has written.
const value = `{"n":0,"done":false,"text":""}`

// maxBody bounds the body of a request.
const maxBody = 16 << 20

// serveREST answers a read with the value, a write with what was written, and
// everything about the database as if it were empty and open.
func serveREST(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch {
	case r.Method == http.MethodPut || r.Method == http.MethodPatch:
	case r.Method == http.MethodGet && r.URL.Path != "/.json":
		body = []byte(value)
	default:
		body = []byte("null")
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client has left if it fails
}
