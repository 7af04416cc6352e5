package servertest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
)

// SetRules puts a rules document in force. Without one, everything is allowed.
func (s *Server) SetRules(document string) {
	s.t.Helper()
	s.do(http.MethodPut, "/.settings/rules", document)
}

// SetData puts a data document in force, which declares what follows from writes. Without one,
// nothing does.
func (s *Server) SetData(document string) {
	s.t.Helper()
	s.do(http.MethodPut, "/.settings/data", document)
}

// Token returns an ID token of a user, with more claims if there are any, such as
// "admin": true. Only this server and others for development believe it: it is
// not signed. Clients present it as they do any other token.
func Token(uid string, claims map[string]any) string {
	all := map[string]any{"iat": 0, "sub": uid, "user_id": uid}
	for name, value := range claims {
		all[name] = value
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic("servertest: claims: " + err.Error())
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode(text) + "."
}
