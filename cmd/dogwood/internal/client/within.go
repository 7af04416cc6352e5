package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Within returns flags for a development server of this process, on behalf of its owner. h
// answers the requests, so they need no socket.
func Within(h http.Handler, namespace string) Flags {
	return Flags{URL: "http://localhost", Namespace: namespace, Owner: true, within: h}
}

// A handlerTransport has a handler answer requests.
type handlerTransport struct{ http.Handler }

func (t handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := r.Clone(r.Context())
	asked.RemoteAddr, asked.Host, asked.RequestURI = "127.0.0.1:0", r.URL.Host, r.URL.RequestURI()
	asked.Header.Del("Expect")
	if asked.Body == nil {
		asked.Body = http.NoBody
	}
	body, w := io.Pipe()
	a := &handlerAnswer{header: make(http.Header), body: w, begun: make(chan struct{})}
	go func() {
		defer asked.Body.Close()
		err := serve(t.Handler, a, asked)
		a.WriteHeader(http.StatusOK)
		_ = w.CloseWithError(err) // nil ends the body well
	}()
	select {
	case <-a.begun:
	case <-r.Context().Done():
		_ = body.CloseWithError(r.Context().Err())
		return nil, r.Context().Err()
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.sent, Body: body, ContentLength: -1, Request: r,
	}, nil
}

// serve has a handler answer, and returns why its answer is not whole.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			err = io.ErrUnexpectedEOF
		} else if p != nil {
			panic(p)
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// A handlerAnswer is the ResponseWriter of such a request.
type handlerAnswer struct {
	header, sent http.Header
	body         *io.PipeWriter
	status       int
	begun        chan struct{} // closed when status and sent are set
	once         sync.Once
}

func (a *handlerAnswer) Header() http.Header { return a.header }

func (a *handlerAnswer) WriteHeader(status int) {
	if status < http.StatusOK {
		return
	}
	a.once.Do(func() {
		a.status, a.sent = status, a.header.Clone()
		close(a.begun)
	})
}

func (a *handlerAnswer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	n, err := a.body.Write(p)
	if errors.Is(err, io.ErrClosedPipe) {
		err = http.ErrAbortHandler
	}
	return n, err
}
