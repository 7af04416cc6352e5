package realtime

import (
	"crypto/tls"
	"net"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestCutOffDoesNotWait: a client that reads nothing is cut off at once, over TLS, too. TLS
// would say goodbye and wait for the client to take that, with the lock of the socket held.
func TestCutOffDoesNotWait(t *testing.T) {
	n := serveTest(t, Limits{})
	https := httptest.NewTLSServer(nil)
	certificates := https.TLS.Certificates
	https.Close()
	synctest.Test(t, func(t *testing.T) {
		far, near := net.Pipe()
		defer far.Close()
		client := tls.Client(far, &tls.Config{InsecureSkipVerify: true})
		server := tls.Server(near, &tls.Config{Certificates: certificates, SessionTicketsDisabled: true})
		failed := make(chan error, 1)
		go func() { failed <- server.Handshake() }()
		if err := client.Handshake(); err != nil {
			t.Fatal(err)
		}
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
		s := newSocket(n.Server, server, nil)
		began := time.Now()
		s.cutOff()
		if d := time.Since(began); d != 0 {
			t.Errorf("it took %s", d)
		}
		server.Close()
	})
}
