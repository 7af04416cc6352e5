package server

import (
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/server/auth"
)

// TestRefusedCredentialsAreInTheLog has the log say why, once for each kind, and without
// the credential.
func TestRefusedCredentialsAreInTheLog(t *testing.T) {
	token := func(secret, ns string, when time.Time) string {
		text, err := auth.CustomToken{UID: "ana", Namespace: ns, Life: time.Minute}.Sign(secret, when)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, c := range []struct{ name, credential, want string }{
		{"secret", "a guess of the secret", "it is no secret for this database and no token"},
		{"line of a file", expirySecret + "%0A", "it has white space around it, such as the end of a line"},
		{"access token", "dogwood_e30.e30", "this server did not issue the access token"},
		{"signature", token("another-secret-of-16", "test", time.Now()), "no secret for this database signed it"},
		{"audience", token(expirySecret, "shop", time.Now()), "its audience (aud) is not the database"},
		{"expired", token(expirySecret, "test", time.Now().Add(-time.Hour)), "it has expired"},
		{"early", token(expirySecret, "test", time.Now().Add(time.Hour)), "it is not valid yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log console
			ts := serveTest(t, Options{Namespaces: []string{"test", "shop"}, AdminSecrets: []string{expirySecret}, Log: textLog(&log)})
			for range 5 {
				r := ts.do(call{method: "GET", target: "/a.json?ns=test&auth=" + strings.ReplaceAll(c.credential, " ", "%20")})
				if r.StatusCode != 401 || strings.Contains(r.body, c.want) {
					t.Errorf("the client is told %d %s, want 401 and no reason", r.StatusCode, r.body)
				}
			}
			text := log.String()
			if n := strings.Count(text, "refused a credential"); n != 1 || !strings.Contains(text, c.want) {
				t.Errorf("the log has %d lines, want one with %q:\n%s", n, c.want, text)
			}
			if strings.Contains(text, c.credential) || strings.Contains(text, c.credential[strings.LastIndexByte(c.credential, '.')+1:]) {
				t.Errorf("the log has the credential:\n%s", text)
			}
			if strings.Count(c.credential, ".") == 2 && !(strings.Contains(text, "alg=HS256") && strings.Contains(text, "exp=")) {
				t.Errorf("the log does not say what the token says of itself:\n%s", text)
			}
		})
	}
}
