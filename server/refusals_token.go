package server

import (
	"errors"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/server/auth"
)

// tokenErrors are the classes of refused credentials. Each has a line of the log every
// 10 s (refusalPause), so that a flood of one does not hide the others.
var tokenErrors = [...]error{auth.ErrRevoked, auth.ErrExpired, auth.ErrMissingKid, auth.ErrUnknownKid, auth.ErrInvalid}

// tokenLines are the lines of the log about refused credentials.
type tokenLines [len(tokenErrors)]quietLine

// refusedCredential counts a credential that was refused, and has the log say why now
// and then. The client is told no more than its class.
func (s *Server) refusedCredential(ns, text string, why error) {
	s.metrics.CredentialsRefused.Add(1)
	class := slices.IndexFunc(tokenErrors[:], func(class error) bool { return errors.Is(why, class) })
	if class < 0 {
		return
	}
	if count, ok := s.tokenLines[class].next(time.Since(s.refusals.began)); ok {
		args := []any{"count", count, "namespace", ns}
		s.log.Info("refused a credential", append(args, s.auth.Reason(ns, text, why)...)...)
	}
}
