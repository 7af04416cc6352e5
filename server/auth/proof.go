package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A proof is what has to be known of a credential to find out later whether it was revoked. It is
// kept with what a client leaves to be done, and neither is a credential nor makes one.
type proof struct {
	UID     string    `json:"uid,omitempty"`
	Since   time.Time `json:"since,omitzero"` // when the user signed in
	Account string    `json:"account,omitempty"`
	Key     string    `json:"key,omitempty"` // id of the account's key
}

// Proof returns the text by which Revoked knows the credential, "" if it cannot be revoked.
func (id Identity) Proof() string {
	p := proof{id.uid(), id.since.UTC(), id.account, id.key}
	if len(p.UID) > maxUID { // Revocations take no such id
		p.UID = ""
	}
	if p.UID == "" && p.Account == "" {
		return ""
	}
	text, err := json.Marshal(p)
	if err != nil { // a time in front of the year 0, which is as good as none
		p.Since = time.Time{}
		text, _ = json.Marshal(p)
	}
	return string(text)
}

// Revoked reports whether a credential was revoked for a namespace since, by its proof. An error
// says that this is not known now.
func (a *Authority) Revoked(ns, text string) (bool, error) {
	var p proof
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return false, fmt.Errorf("the proof of a credential: %w", err)
	}
	id := Identity{since: p.Since, account: p.Account, key: p.Key}
	if p.UID != "" {
		id.Auth = Claims{"uid": p.UID}
	}
	err := a.CheckBegun(ns, id)
	if errors.Is(err, ErrUnavailable) {
		return false, err
	}
	return err != nil, nil
}
