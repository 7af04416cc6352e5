// Package front is the page that a server shows to browsers at /. It says what the server
// is, and leads to the demonstration, if there is one, and to the documentation.
//
// No credential is asked for, so it is the same for all: it knows no database, no data and no
// version. Only the page of a development server has more to say.
package front

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"regexp"
	"strings"
)

// Docs is where the documentation is.
const Docs = "https://github.com/dogwooddb/dogwood/tree/main/docs"

//go:embed page.html
var pageText string

//go:embed page.css
var style string

var page = template.Must(template.New("page").Parse(pageText))

// policy allows the style of the page and nothing else: no script, no request, no frame.
var policy = strings.Join([]string{
	"default-src 'none'",
	"style-src 'sha256-" + hash(style) + "'",
	"base-uri 'none'",
	"form-action 'none'",
	"frame-ancestors 'none'",
}, "; ")

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Options say what a server has.
type Options struct {
	Dev  bool // it is a development server
	Demo bool // it has the demonstration at /demo/
}

// hostMark is in place of the host in a page that is made before a request comes.
const hostMark = "host.invalid"

// A Page is the page of a server.
type Page struct {
	body []byte
}

// New returns the page of a server.
func New(o Options) (*Page, error) {
	var b bytes.Buffer
	err := page.Execute(&b, map[string]any{
		"Dev": o.Dev, "Demo": o.Demo, "Docs": Docs, "Host": hostMark,
		"Style": template.CSS(style), "Turns": []int{0, 90, 180, 270},
	})
	if err != nil {
		return nil, fmt.Errorf("first page: %w", err)
	}
	return &Page{b.Bytes()}, nil
}

// longestHost is that of a name in DNS with a port.
const longestHost = 255 + len(":65535")

// plainHost matches hosts that mean nothing else in HTML and in a shell.
var plainHost = regexp.MustCompile(`^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?$`)

// For returns the page for a client that asked for host. The client chooses that text, so
// one that is no plain host is not repeated.
func (p *Page) For(host string) []byte {
	if len(host) > longestHost || !plainHost.MatchString(host) {
		host = "localhost:9000"
	}
	return bytes.ReplaceAll(p.body, []byte(hostMark), []byte(host))
}

// SetHeaders sets what browsers are told about the page.
func SetHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
}

// Wanted reports whether a client asks for HTML by name, as browsers do. Programs that
// take anything do not: they have other answers at /.
func Wanted(h http.Header) bool {
	for _, accept := range h.Values("Accept") {
		for one := range strings.SplitSeq(accept, ",") {
			kind, params, err := mime.ParseMediaType(one)
			q, weighted := params["q"]
			refused := weighted && strings.Trim(q, "0.") == ""
			if err == nil && kind == "text/html" && !refused {
				return true
			}
		}
	}
	return false
}
