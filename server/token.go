package server

import (
	"encoding/base64"
	"strings"

	dsync "github.com/dogwooddb/dogwood/sync"
)

// maxTokenBytes bounds a token. Identity providers keep theirs below 8 KiB
// because they travel in headers.
const maxTokenBytes = 64 << 10

// decodeToken returns the claims of a JWT without looking at its signature,
// which may be missing. Only dev mode may believe them.
func decodeToken(token string) (claims, bool) {
	parts := strings.Split(token, ".")
	if len(token) > maxTokenBytes || len(parts) != 3 {
		return nil, false
	}
	if _, ok := decodePart(parts[0]); !ok {
		return nil, false
	}
	return decodePart(parts[1])
}

func decodePart(part string) (claims, bool) {
	src, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(part, "="))
	if err != nil {
		return nil, false
	}
	return decodeObject(src)
}

// usable reports whether the claims say who signed in.
func (c claims) usable() bool {
	_, legacy := c.legacy()
	return legacy || c.admin() || c.uid() != ""
}

// legacy returns the auth variable that a token of the old kind carries:
// {"v":0,"d":{"uid":…},"iat":…}.
func (c claims) legacy() (vars claims, ok bool) {
	if _, ok := c["v"]; !ok {
		return nil, false
	}
	return c.object("d")
}

// admin reports whether a legacy token asks for an administrator's rights.
func (c claims) admin() bool {
	admin, _ := c["admin"].(bool)
	_, legacy := c["v"]
	return legacy && admin
}

// uid returns the user's id. ID tokens have it as sub and user_id, custom
// tokens as uid.
func (c claims) uid() string {
	for _, name := range []string{"sub", "user_id", "uid"} {
		if uid := c.text(name); uid != "" {
			return uid
		}
	}
	return ""
}

// caller returns whom the claims stand for. For an ID token, auth has the
// members uid, provider and token; a legacy token brings its own (rules
// language §2).
func (c claims) caller() dsync.Caller {
	if c.admin() {
		return dsync.Admin
	}
	if vars, ok := c.legacy(); ok {
		return dsync.Caller{Auth: authOf(vars)}
	}
	vars := claims{"uid": c.uid(), "token": map[string]any(c)}
	if firebase, ok := c.object("firebase"); ok && firebase.text("sign_in_provider") != "" {
		vars["provider"] = firebase.text("sign_in_provider")
	} else if p := c.text("provider_id"); p != "" {
		vars["provider"] = p
	}
	return dsync.Caller{Auth: authOf(vars)}
}
