package realtime

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
)

// pageScript runs in a hidden frame of the client's page (protocol §14.3). When
// that page or the frame goes away it reports the end of the connection, whose
// id and password are in the frame's address. It has nothing else of the
// address in it, so that there is nothing to inject.
const pageScript = `
addEventListener("onpagehide" in self ? "pagehide" : "unload", function () {
  var url = location.pathname + location.search.replace(/([?&])dframe=t/, "$1disconn=t")
  if (navigator.sendBeacon) {
    navigator.sendBeacon(url)
  } else {
    var request = new XMLHttpRequest()
    request.open("GET", url, false)
    request.send()
  }
})
`

const page = `<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>Connection</title></head>
<body><script>` + pageScript + `</script></body></html>
`

// pagePolicy lets this one script run and report, and nothing else.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(pageScript))
	return "default-src 'none'; connect-src 'self'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

func writePage(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	w.Write([]byte(page))
}
