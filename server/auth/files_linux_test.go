package auth

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// withoutFiles runs f while no file can be opened, as when a process has used up its descriptors.
func withoutFiles(t *testing.T, f func()) {
	t.Helper()
	var had syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &had); err != nil {
		t.Fatal(err)
	}
	none := had
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &had); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}

// A key set that could not be read when it was exchanged is read by a later token, and the log
// does not have a line for each until then.
func TestKeyFileIsReadLater(t *testing.T) {
	var log bytes.Buffer
	file := writeKeys(t, jwk(&rsaKey().PublicKey, "one", nil))
	a, err := New(Options{
		Providers: []Provider{{issuer, file, []Audience{{"shop-project", ""}}}},
		Now:       func() time.Time { return now },
		Log:       slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	one := sign("RS256", "one", idClaims(""), rsaKey())
	two := sign("RS256", "two", idClaims(""), otherRSA())
	want := func(when, token string, want error) {
		t.Helper()
		if _, err := a.Token("shop", token); err != want {
			t.Errorf("%s: %v, want %v", when, err, want)
		}
	}
	if err := writeFile(durable.Replace, file, jwks(jwk(&otherRSA().PublicKey, "two", nil))); err != nil {
		t.Fatal(err)
	}
	withoutFiles(t, func() {
		for range 20 {
			want("unread, the new key", two, ErrUnknownKid)
			want("unread, the old key", one, nil)
		}
	})
	want("read, the new key", two, nil)
	want("read, the old key", one, ErrUnknownKid)
	if n := strings.Count(log.String(), "cannot be read"); n != 1 {
		t.Errorf("%d lines, want 1:\n%s", n, log.String())
	}
}

// A credential is not refused because files of the server cannot be opened.
func TestUndecided(t *testing.T) {
	var log bytes.Buffer
	a := newTest(t)
	a.opts.Log = slog.New(slog.NewTextHandler(&log, nil))
	by, key := newAccount(t, a, "backend")
	access, err := a.Exchange(assertion(by, key, nil))
	if err != nil {
		t.Fatal(err)
	}
	admin, err := a.Bearer("shop", access)
	if err != nil {
		t.Fatal(err)
	}
	user := sign("HS256", "", withTimes(`"uid":"ana"`, -60, 3600), []byte(secret))
	ana, err := a.Token("shop", user)
	if err != nil {
		t.Fatal(err)
	}
	expired := ana
	expired.Expires = now
	withoutFiles(t, func() {
		for range 5 {
			for name, err := range map[string]error{
				"token":     second(a.Token("shop", user)),
				"bearer":    second(a.Bearer("shop", access)),
				"custom":    second(a.Token("shop", sign("RS256", "", withTimes(`"iss":"`+by.Email()+`","uid":"ana","aud":"shop"`, -60, 3600), key))),
				"assertion": second(a.Exchange(assertion(by, key, nil))),
				"user":      a.Check("shop", ana),
				"account":   a.Check("shop", admin),
				"proof":     second(a.Revoked("shop", ana.Proof())),
			} {
				if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrInvalid) {
					t.Errorf("%s: %v, want %v", name, err, ErrUnavailable)
				}
			}
			for _, id := range []Identity{ana, admin} {
				if err := a.Ended("shop", id); err != nil {
					t.Errorf("%s ends with %v", id.Proof(), err)
				}
			}
			if err := a.Ended("shop", expired); err != ErrExpired {
				t.Errorf("one that has expired ends with %v, want %v", err, ErrExpired)
			}
		}
	})
	if _, err := a.Token("shop", user); err != nil {
		t.Errorf("later: %v", err)
	}
	if n := strings.Count(log.String(), "cannot be decided"); n != 1 {
		t.Errorf("%d lines, want 1:\n%s", n, log.String())
	}
}

func second[T any](_ T, err error) error { return err }
