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
	"mime"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// Docs is where the documentation is.
const Docs = "https://github.com/dogwooddb/dogwood/tree/main/docs"

//go:embed page.html
var pageText string

//go:embed page.css
var style string

// Parts of the page. They are put together by hand: html/template, which is in no other part
// of the program, would add 500 KB to it.
const (
	petal = `<path d="M16 15C11 11.5 9.8 6.5 12 3.2 13.4 1.2 15 2.6 16 4c1-1.4 2.6-2.8 4-.8C22.2 6.5 21 11.5 16 15z" transform="rotate(%d 16 16)"/>`

	kindDev = "\nIt is a development server, which makes a database when one is first used."

	linkDemo = `<li><a href="/demo/">Demonstration</a>
<p>The sample in a browser: live data, and how the rules decide.</p></li>
`
	hintDemo = `<li>Demonstration
<p>The command <code>dogwood dev --sample chat</code> starts a server that has one.</p></li>
`
	tryDev = `<h2>Try it</h2>
<p>Data are at paths that end with <code>.json</code>:</p>
<pre tabindex="0"><code>curl -X PUT 'http://` + hostMark + `/hello.json' \
  -H 'Authorization: Bearer owner' -d '"world"'
curl 'http://` + hostMark + `/hello.json' \
  -H 'Authorization: Bearer owner'</code></pre>
`
	nothingElse = "<p>There is nothing else to see here without an account of an application that uses it.</p>\n"
)

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
func New(o Options) *Page {
	kind, demo, hint, rest := "", "", "", nothingElse
	if o.Dev {
		kind, hint, rest = kindDev, hintDemo, tryDev
	}
	if o.Demo {
		demo, hint = linkDemo, ""
	}
	var petals strings.Builder
	for _, turn := range []int{0, 90, 180, 270} {
		fmt.Fprintf(&petals, petal, turn)
	}
	text := strings.NewReplacer("{{style}}", style, "{{petals}}", petals.String(), "{{kind}}", kind, "{{demo}}", demo,
		"{{docs}}", Docs, "{{hint}}", hint, "{{rest}}", rest).Replace(pageText)
	return &Page{[]byte(text)}
}

// longestHost is that of a name in DNS with a port.
const longestHost = 255 + len(":65535")

// plainHost matches hosts that mean nothing else in HTML and in a shell.
var plainHost = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?$`) })

// For returns the page for a client that asked for host. The client chooses that text, so
// one that is no plain host is not repeated.
func (p *Page) For(host string) []byte {
	if len(host) > longestHost || !plainHost().MatchString(host) {
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
