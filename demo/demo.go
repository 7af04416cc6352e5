// Package demo is the demonstration that a development server shows in a browser at
// /demo/: a page for the sample that its databases begin with, and the decisions of
// the rules that the page explains.
//
// A [Demo] is an [http.Handler] for that path and all below it. It serves the files
// of dist, which client-js/scripts/demo.ts builds from src, and remembers the last
// decisions that it was told by [Demo.Hear]. It knows no database: the page is a
// client like any other. docs/demo.md tells what there is to see.
//
// The decisions quote rules and data, so a Demo is for development servers, which hide
// nothing from their clients.
package demo

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed dist
var files embed.FS

// Options say what is demonstrated.
type Options struct {
	Sample    string // that the databases begin with, such as "chat"
	Namespace string // of the database that the page uses
}

// A Demo serves the demonstration.
type Demo struct {
	files     map[string]file // by name; "" is the page
	decisions decisions
}

// A file is what a path is answered with.
type file struct {
	name string
	body []byte
	tag  string
}

// New returns the demonstration of a sample.
func New(o Options) (*Demo, error) {
	d := &Demo{files: make(map[string]file), decisions: decisions{namespace: o.Namespace}}
	entries, err := fs.ReadDir(files, "dist")
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	for _, e := range entries {
		name, body, err := read(e.Name())
		if err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
		at := name
		if name == "index.html" {
			at, body = "", fill(body, o)
		}
		d.files[at] = newFile(name, body)
	}
	return d, nil
}

// read returns a file of dist. Large ones are compressed there, which makes the program smaller.
func read(entry string) (name string, body []byte, err error) {
	if body, err = files.ReadFile(path.Join("dist", entry)); err != nil {
		return "", nil, err
	}
	name, compressed := strings.CutSuffix(entry, ".gz")
	if !compressed {
		return name, body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err == nil {
		body, err = io.ReadAll(z)
	}
	return name, body, err
}

// fill puts the options into the page.
func fill(page []byte, o Options) []byte {
	r := strings.NewReplacer("{{.Sample}}", html.EscapeString(o.Sample), "{{.Namespace}}", html.EscapeString(o.Namespace))
	return []byte(r.Replace(string(page)))
}

func newFile(name string, body []byte) file {
	sum := sha256.Sum256(body)
	return file{name, body, `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
}

// ServeHTTP answers requests for /demo/ and what is below.
func (d *Demo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header(), r.Host)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name, inside := strings.CutPrefix(r.URL.Path, "/demo/")
	switch f, known := d.files[name]; {
	case r.URL.Path == "/demo":
		http.Redirect(w, r, "/demo/", http.StatusMovedPermanently)
	case inside && name == "decisions":
		d.decisions.serve(w, r)
	case inside && known:
		w.Header().Set("ETag", f.tag)
		http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.body))
	default:
		http.NotFound(w, r)
	}
}
