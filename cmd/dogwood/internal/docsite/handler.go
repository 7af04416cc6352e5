package docsite

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// Handler serves the files of a site: / is index.html, and names without an extension are
// pages. Nothing else of a request counts, so there is nothing that it could read or change.
func Handler(site fs.FS) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the documentation can only be read", http.StatusMethodNotAllowed)
			return
		}
		name := fileOf(r.URL.Path)
		text, err := fs.ReadFile(site, name)
		if err != nil {
			notFound(w, site, err)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", cacheOf(name))
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
	})
}

// fileOf returns the file that a path names. fs.ReadFile refuses names that lead out of
// the site.
func fileOf(urlPath string) string {
	name := strings.TrimPrefix(urlPath, "/")
	switch {
	case name == "" || strings.HasSuffix(name, "/"):
		return name + "index.html"
	case path.Ext(name) == "":
		return name + ".html"
	}
	return name
}

// cacheOf: the names of assets contain their hashes, so they never change.
func cacheOf(name string) string {
	if strings.HasPrefix(name, "assets/") {
		return "max-age=31536000, immutable"
	}
	return "no-cache"
}

func notFound(w http.ResponseWriter, site fs.FS, err error) {
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
		http.Error(w, "the documentation cannot be read", http.StatusInternalServerError)
		return
	}
	page, err := fs.ReadFile(site, "404.html")
	if err != nil {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(page) // the reader may be gone
}
