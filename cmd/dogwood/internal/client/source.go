package client

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// A Source reads from a database of another server: Firebase, or one that is like it.
type Source struct {
	db   *Client
	auth url.Values // the credential, if it goes into the address
}

// NewSource returns a source for an address, which may have a path, with a credential or "".
// Access tokens of Google go into a header, and everything else where all servers take it:
// into the parameter auth.
func NewSource(e *console.Env, address, credential string) (*Source, error) {
	db, err := WithSecret(e, address, "", "")
	if err != nil {
		return nil, errors.New(strings.Replace(err.Error(), "--url", "the address", 1))
	}
	db.http.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		return http.ErrUseLastResponse // another server would get the credential
	}
	s := &Source{db: db, auth: url.Values{}}
	switch {
	case strings.HasPrefix(credential, "ya29."):
		db.Secret = credential
	case credential != "":
		s.auth.Set("auth", credential)
	}
	return s, nil
}

// Name returns the address of a path for people.
func (s *Source) Name(path string) string { return s.db.Place(path) }

// Get asks for the value at a path. It returns a *ServerError for an answer that is not a
// success. Errors do not have the credential in them.
func (s *Source) Get(e *console.Env, path string, query url.Values) (*http.Response, error) {
	q := url.Values{}
	for _, values := range []url.Values{query, s.auth} {
		for name, value := range values {
			q[name] = value
		}
	}
	r, err := s.db.Request(e.Ctx, http.MethodGet, path, q, nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.db.Answer(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	refused := &ServerError{Status: resp.StatusCode, text: errorText(resp)}
	switch {
	case refused.Status == http.StatusUnauthorized && s.auth.Get("auth") == "" && s.db.Secret == "":
		refused.advice = "pass a credential with --auth-file"
	case refused.Status == http.StatusUnauthorized:
		refused.advice = "the credential of --auth-file does not allow this: it must be that of an administrator, and not be expired"
	case refused.Status/100 == 3:
		refused.advice = "the database is at " + resp.Header.Get("Location")
	}
	return nil, refused
}
