// Package profiles serves what the Go runtime knows of a program: processor time, memory,
// goroutines, locks and traces, for "go tool pprof" and "go tool trace". It has the addresses
// of net/http/pprof, which is not used because it also links all that computes differences
// of profiles.
package profiles

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"strings"
	"time"
)

// Root is where the handler is to be mounted.
const Root = "/debug/pprof/"

// longest is for how long a profile or a trace may be taken.
const longest = 5 * time.Minute

// Handler serves everything at and below Root:
//
//	profile?seconds=30   processor time
//	trace?seconds=1      what the scheduler did
//	heap, goroutine, …   each profile of runtime/pprof; debug=1 or 2 for texts, gc=1 to collect first
//	cmdline              the command line, with zero bytes between its words
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Root+"{$}", index)
	mux.HandleFunc("GET "+Root+"{name}", named)
	mux.HandleFunc("GET "+Root+"profile", func(w http.ResponseWriter, r *http.Request) {
		during(w, r, 30, func() error { return pprof.StartCPUProfile(w) }, pprof.StopCPUProfile)
	})
	mux.HandleFunc("GET "+Root+"trace", func(w http.ResponseWriter, r *http.Request) {
		during(w, r, 1, func() error { return trace.Start(w) }, trace.Stop)
	})
	mux.HandleFunc("GET "+Root+"cmdline", func(w http.ResponseWriter, _ *http.Request) {
		plain(w)
		fmt.Fprint(w, strings.Join(os.Args, "\x00"))
	})
	return mux
}

func plain(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/plain; charset=utf-8") }

func index(w http.ResponseWriter, _ *http.Request) {
	plain(w)
	fmt.Fprintln(w, "profile\ntrace\ncmdline")
	for _, p := range pprof.Profiles() {
		fmt.Fprintln(w, p.Name(), p.Count())
	}
}

func named(w http.ResponseWriter, r *http.Request) {
	p := pprof.Lookup(r.PathValue("name"))
	if p == nil {
		http.Error(w, "there is no such profile; "+Root+" has a list", http.StatusNotFound)
		return
	}
	if r.FormValue("seconds") != "" {
		http.Error(w, "seconds is for profile and trace; compare two profiles with go tool pprof -base", http.StatusBadRequest)
		return
	}
	if r.FormValue("gc") == "1" {
		runtime.GC()
	}
	debug, _ := strconv.Atoi(r.FormValue("debug")) // 0 if it is none
	if debug > 0 {
		plain(w)
	} else {
		file(w, p.Name())
	}
	_ = p.WriteTo(w, debug) // a client that is gone gets none
}

// during records for the seconds of the request, or until its client is gone.
func during(w http.ResponseWriter, r *http.Request, usual float64, start func() error, stop func()) {
	seconds := usual
	if text := r.FormValue("seconds"); text != "" {
		var err error
		if seconds, err = strconv.ParseFloat(text, 64); err != nil || !(seconds > 0) || seconds > longest.Seconds() {
			http.Error(w, fmt.Sprintf("seconds is a number up to %d", int(longest.Seconds())), http.StatusBadRequest)
			return
		}
	}
	length := time.Duration(seconds * float64(time.Second))
	// A server bounds how long an answer may take, which is about other answers.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(length + time.Minute))
	file(w, "profile")
	if err := start(); err != nil {
		w.Header().Del("Content-Disposition")
		http.Error(w, "another one is being taken: "+err.Error(), http.StatusConflict)
		return
	}
	defer stop()
	select {
	case <-time.After(length):
	case <-r.Context().Done():
	}
}

func file(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}
