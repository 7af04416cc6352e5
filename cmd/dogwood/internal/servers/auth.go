package servers

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/server/auth"
)

// authFlags say which credentials a server accepts in addition to its admin secret.
type authFlags struct {
	JWKS       []string      `name:"jwks" group:"Tokens" help:"Accept ID tokens that a key of this set (JWKS) signed: a file or an https address. With several issuers: one for all, or one for each in their order." placeholder:"FILE|URL"`
	Issuer     []string      `group:"Tokens" help:"Issuer (iss) that ID tokens must have. Several have their own --jwks and --audience each." placeholder:"ISS"`
	Audience   []string      `group:"Tokens" help:"Audience (aud) that ID tokens must have, for all databases or for one. With several issuers, like --jwks." placeholder:"[NAMESPACE=]AUD"`
	ClockSkew  time.Duration `group:"Tokens" help:"How wrong the clocks of token issuers may be." default:"1m"`
	SecretFile []string      `group:"Tokens" help:"File with more secrets, one a line, for all databases or for one. Clients that send one of them are administrators." env:"DOGWOOD_SERVE_SECRET_FILE" placeholder:"[NAMESPACE=]FILE"`
}

func (f *authFlags) credentials(log *slog.Logger) (auth.Options, error) {
	if f.ClockSkew <= 0 || f.ClockSkew > time.Hour {
		return auth.Options{}, fmt.Errorf("--clock-skew %s: not between 0 and an hour", f.ClockSkew)
	}
	var audiences []auth.Audience
	for _, text := range f.Audience {
		ns, name := cutNamespace(text)
		audiences = append(audiences, auth.Audience{Name: name, Namespace: ns})
	}
	providers, err := auth.Providers(f.Issuer, f.JWKS, audiences)
	if err != nil {
		return auth.Options{}, fmt.Errorf("--jwks, --issuer, --audience: %w", err)
	}
	secrets, err := f.secrets(log)
	if err != nil {
		return auth.Options{}, err
	}
	return auth.Options{Providers: providers, Skew: f.ClockSkew, Secrets: secrets}, nil
}

// cutNamespace splits NAMESPACE=VALUE. A text such as an address, which has other characters
// than those of namespaces before the first =, is a value as a whole.
func cutNamespace(text string) (ns, value string) {
	ns, value, ok := strings.Cut(text, "=")
	if !ok || ns == "" || strings.Trim(ns, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return "", text
	}
	return ns, value
}

// shownPlaces returns addresses without the passwords in them.
func shownPlaces(places []string) string {
	var shown []string
	for _, place := range places {
		if u, err := url.Parse(place); err == nil {
			place = u.Redacted()
		}
		shown = append(shown, place)
	}
	return strings.Join(shown, ", ")
}

// greet prints the accepted credentials.
func (f *authFlags) greet(w io.Writer) {
	for _, file := range f.SecretFile {
		fmt.Fprintf(w, "  secrets        %s\n", file)
	}
	for i, issuer := range f.Issuer {
		fmt.Fprintf(w, "  ID tokens      issuer %s\n                 audience %s\n                 keys from %s\n",
			issuer, strings.Join(f.of(i, f.Audience), ", "), shownPlaces(f.of(i, f.JWKS)))
	}
}

// of returns which of a list belong to the issuer i (see auth.Providers).
func (f *authFlags) of(i int, list []string) []string {
	if n := len(f.Issuer); n > 1 && len(list) == n {
		return list[i : i+1]
	}
	return list
}

// secrets reads the files of --secret-file.
func (f *authFlags) secrets(log *slog.Logger) (all []auth.Secret, err error) {
	for _, text := range f.SecretFile {
		ns, file := cutNamespace(text)
		list, err := datadir.ReadSecretFile(file)
		if err != nil {
			return nil, fmt.Errorf("--secret-file: %w", err)
		}
		if othersCanRead(file) {
			log.Warn("other users can read secrets", "file", file)
		}
		for _, s := range list {
			if ns != "" {
				s.Namespaces = []string{ns}
			}
			all = append(all, s)
		}
	}
	return all, nil
}
