package server

import (
	"net/http"
	"net/http/pprof"
)

// operations is the surface of the operations listener.
func operations(s *Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+pathMetrics, s.metrics.Handler(s.source))
	mux.HandleFunc("GET "+pathHealth, func(w http.ResponseWriter, r *http.Request) { writeHealth(w, nil) })
	mux.HandleFunc("GET "+pathReady, func(w http.ResponseWriter, r *http.Request) { writeHealth(w, s.Ready(r.Context())) })
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
