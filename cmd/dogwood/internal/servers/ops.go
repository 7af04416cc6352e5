package servers

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/build"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/server/telemetry"
)

// opsAddress is where operations are served unless --ops-addr says otherwise. The
// port is one of those that exporters for Prometheus use.
const opsAddress = "127.0.0.1:9464"

// opsOff is the --ops-addr of a server without that listener.
const opsOff = "off"

// maxOpsRequests bounds those that are answered at a time. A profile takes half a
// minute.
const maxOpsRequests = 16

// maxOpsConnections bounds those that are open. A browser has 256 at most, and as many
// WebSockets, so its pages cannot take them all.
const maxOpsConnections = 1_000

// opsTimeout is for headers, or a body, to arrive. An answer has three of them to be made and
// taken, to which the seconds that a profile was asked for are added.
const opsTimeout = 10 * time.Second

// opsFlags say where operations are served.
type opsFlags struct {
	OpsAddr string `name:"ops-addr" help:"Address for metrics, health and pprof, which need no credentials; off for none. The default is 127.0.0.1:9464 with serve, and none with dev." placeholder:"HOST:PORT"`

	OTLPEndpoint string  `name:"otlp-endpoint" help:"Address of a collector of OpenTelemetry, to which traces are sent: OTLP over HTTP, as JSON." placeholder:"URL"`
	OTLPSample   float64 `name:"otlp-sample" help:"The part of the traces that is sent, from 0 to 1." default:"1" placeholder:"PART"`
	OTLPPaths    bool    `name:"otlp-paths" help:"Traces have the paths of requests and operations."`
}

// spans returns where traces are sent, nil for nowhere.
func (f *opsFlags) spans(log *slog.Logger) (*telemetry.Exporter, error) {
	if f.OTLPEndpoint == "" {
		return nil, nil
	}
	e, err := telemetry.New(telemetry.Options{Endpoint: f.OTLPEndpoint, Sample: f.OTLPSample, Paths: f.OTLPPaths, Version: build.Version, Log: log})
	if err != nil {
		return nil, fmt.Errorf("--otlp-endpoint, --otlp-sample: %w", err)
	}
	return e, nil
}

// An opsListener serves operations, from before the databases are opened until the
// end. nil is one that does not.
type opsListener struct {
	addr        net.Addr
	gate        *server.OpsGate
	http        http.Server
	connections atomic.Int64
	requests    chan struct{} // has an element for each one that is being answered
	handler     atomic.Pointer[http.Handler]
	done        chan struct{} // closed when http has ended
}

// listen starts the listener. A default address that another server has is no
// reason not to start: there may be several on a machine.
func (f *opsFlags) listen(port int, log *slog.Logger) (*opsListener, error) {
	addr, chosen := f.OpsAddr, f.OpsAddr != ""
	switch {
	case addr == opsOff:
		return nil, nil
	case !chosen && port == 0:
		addr = "127.0.0.1:0"
	case !chosen:
		addr = opsAddress
	}
	l, err := net.Listen("tcp", addr)
	if !chosen && errors.Is(err, syscall.EADDRINUSE) {
		log.Warn("metrics, health and pprof are not served; choose an address with --ops-addr", "err", err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--ops-addr: %w", err)
	}
	if !client.IsLoopback(hostOf(l.Addr())) {
		log.Warn("other machines can reach metrics and pprof, which need no credentials", "addr", l.Addr().String())
	}
	o := &opsListener{addr: l.Addr(), gate: server.NewOpsGate(l.Addr(), addr), requests: make(chan struct{}, maxOpsRequests), done: make(chan struct{})}
	o.http = http.Server{
		Handler:           o,
		ConnState:         o.changed,
		ReadHeaderTimeout: opsTimeout,
		WriteTimeout:      3 * opsTimeout,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	go func() {
		defer close(o.done)
		if err := o.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics, health and pprof are no longer served", "err", err)
		}
	}()
	return o, nil
}

// ready has the listener ask the server. Until then it says that it is starting.
func (o *opsListener) ready(s *server.Server) {
	if o != nil {
		h := s.Operations()
		o.handler.Store(&h)
	}
}

// stop ends the listener.
func (o *opsListener) stop() {
	if o == nil {
		return
	}
	_ = o.http.Close() // a listener that is closed already
	<-o.done
}

// ServeHTTP implements http.Handler.
func (o *opsListener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := o.gate.Refuse(r); err != nil {
		w.Header().Set("Connection", "close") // a foreign page holds none
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if r.ContentLength != 0 { // not for all: its end would end a profile
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(opsTimeout))
	}
	select {
	case o.requests <- struct{}{}:
		defer func() { <-o.requests }()
	default:
		http.Error(w, "too many requests at a time", http.StatusServiceUnavailable)
		return
	}
	if h := o.handler.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	if r.URL.Path == "/healthz" {
		fmt.Fprintln(w, "ok")
		return
	}
	http.Error(w, "starting", http.StatusServiceUnavailable)
}

// changed is an http.Server's ConnState. It closes connections beyond the bound.
func (o *opsListener) changed(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if o.connections.Add(1) > maxOpsConnections {
			_ = c.Close() // its reader finds out, and ends it
		}
	case http.StateClosed:
		o.connections.Add(-1)
	}
}

// line returns a text with the address in it, "" if there is none.
func (o *opsListener) line(format string) string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf(format, o.addr)
}

// hostOf returns the address without its port.
func hostOf(a net.Addr) string { return hostname(a.String()) }

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}
