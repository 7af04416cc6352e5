package isolation

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dogwooddb/dogwood/bench/connect"
)

// Attacks by short requests that have the server make much: long texts, and long answers.

// told is how often a batch of the attack batches asks for one value: there is only its text
// in memory, and the answer is as many times as long.
const told = 60

// batch is a request for several places, which may be compressed.
func (by *attacker) batch(body, coding string) []byte {
	head := connect.RequestLine(by.Target, "POST", "/.batch.json?ns="+url.QueryEscape(by.Target.Namespace))
	if coding != "" {
		head += "Content-Encoding: " + coding + "\r\n"
	}
	return []byte(head + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// fatBatch is a batch that is parsed to its end and then refused. It has less than 1 MiB, and a
// thousandth of that when it is compressed.
var fatBatch = sync.OnceValue(func() string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(`{"get":[` + strings.Repeat(`{"path":"`+strings.Repeat("/"+strings.Repeat("x", 94), 10)+`"},`, 999) + `{}]}`))
	_ = z.Close() // to memory
	return b.String()
})

// sendBatches sends batches that take long to read, and such that are answered at length.
func sendBatches(ctx context.Context, by *attacker, n int) error {
	request := by.batch(fatBatch(), "gzip")
	if n%4 == 0 {
		entry := fmt.Sprintf(`{"path":"%s","orderBy":"$key","limitToFirst":1000}`, largePath)
		request = by.batch(`{"get":[`+entry+strings.Repeat(","+entry, told-1)+`]}`, "")
	}
	return by.expecting(ctx, request, http.StatusOK, http.StatusBadRequest)
}

// putStale writes with a condition that fails. The answer has the value that is there, with its tag.
func putStale(ctx context.Context, by *attacker, n int) error {
	path := attackPath + "/stale" + strconv.Itoa(n)
	value := objectOf(100_000, "1", func(i int) string { return strconv.Itoa(i) }) // which takes longest to hash
	if err := by.expecting(ctx, by.signedIn("PUT", path, "", value)); err != nil {
		return err
	}
	stale := string(by.signedIn("PUT", path, "", "1"))
	stale = strings.Replace(stale, "print=silent&", "", 1) // which does not go with a condition
	stale = strings.Replace(stale, "\r\n", "\r\nIf-Match: guess\r\n", 1)
	return by.expecting(ctx, []byte(stale), http.StatusPreconditionFailed)
}

// expecting sends a request again and again, which is answered with one of some statuses, or
// refused for its rate. Without a status it sends it once, and expects no content.
func (by *attacker) expecting(ctx context.Context, request []byte, statuses ...int) error {
	h, err := connect.DialHTTP(ctx, by.Target)
	if err != nil {
		return err
	}
	defer h.Close()
	defer context.AfterFunc(ctx, h.Close)()
	for ctx.Err() == nil {
		status, _, err := h.Do(request)
		if err != nil {
			return err
		}
		by.sent.Add(1)
		switch {
		case len(statuses) == 0 && status == http.StatusNoContent:
			return nil
		case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
			by.refused.Add(1)
		case !slices.Contains(statuses, status):
			return fmt.Errorf("status %d", status)
		}
	}
	return nil
}
