package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// silentHost accepts a part of what is sent to it and never answers.
func silentHost(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = r.Body.Read(make([]byte, 1))
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// Each command says that it waits, and ends.
func TestSilentHost(t *testing.T) {
	t.Setenv("DOGWOOD_SECRET", "")
	usual := http.DefaultTransport
	defer func() { http.DefaultTransport = usual }()
	http.DefaultTransport = roundTripper(silentHost)
	file := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(file, []byte(`{"rules":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const reading = "is the port right? If it is, try again later"
	const writing = "is the port right? The change may still take effect: look before you try again"
	for _, c := range []struct {
		args    string
		minutes int
		advice  string
	}{
		{"get /x", 1, reading},
		{"set /x 1", 1, writing},
		{"update /x {}", 1, writing},
		{"push /x 1", 1, writing},
		{"remove /x --force", 1, writing},
		{"rules deploy " + file, 1, writing},
		{"rules history", 1, reading},
		{"watch /x", 1, reading},
		{"top", 1, reading},
		{"export /", 60, reading},
		{"backup -", 60, reading},
		{"explain /", 60, reading},
		{"import / " + file + " --force", 60, writing},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var stderr strings.Builder
			code := run(&env{t.Context(), strings.NewReader(""), io.Discard, &stderr}, append(strings.Fields(c.args), "--url", "silent:9000"))
			log := stderr.String()
			if took := time.Since(began); code != 1 || took != time.Duration(c.minutes)*time.Minute {
				t.Errorf("%s = %d after %v: %s", c.args, code, took, log)
			}
			notices := "dogwood: still waiting for http://silent:9000 (5s)\ndogwood: still waiting for http://silent:9000 (35s)\n"
			if !strings.HasPrefix(log, notices) {
				t.Errorf("%s: %s", c.args, log)
			}
			after := time.Duration(c.minutes) * time.Minute
			if want := fmt.Sprintf("\ndogwood: http://silent:9000: no answer for %v; %s\n", after, c.advice); !strings.HasSuffix(log, want) {
				t.Errorf("%s: %s, want …%s", c.args, log, want)
			}
		})
	}
}

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
