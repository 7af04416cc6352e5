package server

import (
	"net/http"
	"testing"
	"time"
)

func TestTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10s": 10 * time.Second, "1.5s": 1500 * time.Millisecond, "250ms": 250 * time.Millisecond,
		"15min": 15 * time.Minute, "900s": 15 * time.Minute,
		"": 0, "10": 0, "0s": 0, "-1s": 0, "16min": 0, "901s": 0, "s": 0, "10h": 0, "NaNs": 0, "Infs": 0, "1e9s": 0, "15minutes": 0,
	} {
		got, err := parseTimeout(params{{"timeout", text}})
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("timeout=%s is %s, %v, want %s", text, got, err, want)
		}
	}
	if got, _ := parseTimeout(nil); got != readTimeout {
		t.Errorf("without timeout= it is %s, want %s", got, readTimeout)
	}
}

func TestCallback(t *testing.T) {
	for name, ok := range map[string]bool{
		"gotData": true, "app.handlers.$x_1": true, "_": true,
		"": false, "alert(1)//": false, "a b": false, "1a": false, "a\n": false, "ü": false,
	} {
		if _, err := parseCallback(params{{"callback", name}}); (err == nil) != ok {
			t.Errorf("callback=%q: error %v, want ok %v", name, err, ok)
		}
	}
}

func TestWriteSize(t *testing.T) {
	if !fits(1<<20, "tiny") || !fits(300<<20, "unlimited") || fits(100<<20, "tiny") || !fits(64<<20, "small") {
		t.Error("a write does not fit the size it should, or fits one it should not")
	}
	for size, ok := range map[string]bool{"tiny": true, "unlimited": true, "huge": false, "": false} {
		if _, err := parseWriteSize(params{{"writeSizeLimit", size}}); (err == nil) != ok {
			t.Errorf("writeSizeLimit=%s: error %v, want ok %v", size, err, ok)
		}
	}
}

func TestDisposition(t *testing.T) {
	for name, want := range map[string]string{
		"backup.json":                  `attachment; filename="backup.json"`,
		"../../etc/passwd":             `attachment; filename=".._.._etc_passwd"`,
		"a\"; filename=\"b\r\nX-Y: zü": `attachment; filename="a__ filename=_b__X-Y_ z_"`,
	} {
		if got := disposition(name); got != want {
			t.Errorf("disposition(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestTags(t *testing.T) {
	c := parseConditions(http.Header{"If-Match": {`"abc"`}, "X-Firebase-Etag": {"true"}})
	if c.match != "abc" || !c.wantTag || *c.hash() != "abc" {
		t.Errorf("conditions are %+v", c)
	}
	if h := (conditions{match: nullTag}).hash(); h == nil || *h != "" {
		t.Errorf("null_etag asks for hash %v, want the absent node's", h)
	}
	if (conditions{}).hash() != nil {
		t.Error("a request without If-Match is conditional")
	}
	for _, empty := range []string{``, `""`} {
		if h := parseConditions(http.Header{"If-Match": {empty}}).hash(); h == nil || *h == "" {
			t.Errorf(`If-Match: %s is unconditional, or asks for the absent node`, empty)
		}
	}
}

func TestAcceptsGzip(t *testing.T) {
	for field, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "br, gzip;q=0.5": true, "deflate, gzip": true,
		"gzip;q=0": false, "gzip; q=0.0": false, "br": false, "xgzip": false,
	} {
		if got := acceptsGzip(http.Header{"Accept-Encoding": {field}}); got != want {
			t.Errorf("Accept-Encoding %q: %v, want %v", field, got, want)
		}
	}
}
