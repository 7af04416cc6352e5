package server

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/dogwooddb/dogwood/server/auth"
)

const (
	jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

	// maxExchange bounds the form of a request for an access token: an assertion
	// of the greatest length, escaped, and a grant_type.
	maxExchange = auth.MaxTokenBytes + 1<<10
)

// A tokenError is a refusal in the words of OAuth (RFC 6749 §5.2).
type tokenError struct {
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

// postToken gives a service account an access token for an assertion: POST
// /token, which is what token_uri in its key file points to (REST §6).
//
// It is not below a database and asks for no credential, since the assertion is
// one. Failures are told in the words of OAuth, as libraries expect, and never
// say whether an account exists.
func postToken(q *request) (answer, error) {
	q.w.Header().Set("Cache-Control", "no-store")
	text, err := q.text(maxExchange)
	if err != nil {
		return answer{}, err
	}
	q.charge(len(text) / chargedToken)
	form, err := url.ParseQuery(text)
	if err != nil {
		return refuseToken(q, tokenError{"invalid_request", "The body is not a form."})
	}
	if form.Get("grant_type") != jwtBearer {
		return refuseToken(q, tokenError{"unsupported_grant_type", "The grant_type must be " + jwtBearer + "."})
	}
	access, err := q.s.auth.Exchange(form.Get("assertion"))
	if err != nil {
		q.s.credentials.Add("", form.Get("assertion"), err)
	}
	if errors.Is(err, auth.ErrUnavailable) {
		return answer{}, errOverloaded
	}
	if errors.Is(err, auth.ErrExpired) {
		return refuseToken(q, tokenError{"invalid_grant", "The assertion has expired."})
	}
	if err != nil {
		return refuseToken(q, tokenError{"invalid_grant", "The assertion is not one of a service account of this server."})
	}
	return q.encode(struct {
		Token   string `json:"access_token"`
		Type    string `json:"token_type"`
		Expires int    `json:"expires_in"`
	}{access, "Bearer", int(auth.AccessLife.Seconds())})
}

func refuseToken(q *request, e tokenError) (answer, error) {
	a, err := q.encode(e)
	a.status = http.StatusBadRequest
	return a, err
}
