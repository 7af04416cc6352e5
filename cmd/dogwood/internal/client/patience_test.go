package client

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A slowReader has a byte every ten minutes, as a person at a terminal.
type slowReader struct{ left int }

func (r *slowReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(10 * time.Minute)
	r.left--
	p[0] = '1'
	return 1, nil
}

func (*slowReader) Close() error { return nil }

// Only the server is waited for: neither the source of a body nor the rest of an answer counts.
func TestPatienceIsForTheServer(t *testing.T) {
	for _, early := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var notices strings.Builder
			var sending context.Context
			read := make(chan error, 1)
			transport := &patientTransport{roundTripper(func(r *http.Request) (*http.Response, error) {
				sending = r.Context()
				go func() {
					_, err := io.Copy(io.Discard, r.Body)
					read <- err
				}()
				if !early {
					read <- <-read
				}
				return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
			}), usualPatience, &notices}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://host/x", &slowReader{3})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := transport.RoundTrip(r); err != nil {
				t.Errorf("early %t: %v", early, err)
			}
			if err := <-read; err != nil {
				t.Errorf("early %t: the body: %v", early, err)
			}
			time.Sleep(time.Hour)
			if sending.Err() != nil || notices.Len() > 0 {
				t.Errorf("early %t: %v, %q", early, sending.Err(), notices.String())
			}
		})
	}
}
