package realtime

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// The kinds of requests for /.lp.
type pollKind int

const (
	pollNext       pollKind = iota // brings messages and waits for others
	pollStart                      // opens a connection
	pollPage                       // asks for the page that reports the end
	pollDisconnect                 // says that the client is gone
)

// A pollQuery is what a request for /.lp says (protocol §14).
type pollQuery struct {
	kind         pollKind
	callback     wire.CallbackID // cb, of a start
	id, password string          // id and pw, of all others
	serial       int64           // ser: polls count up, from any number
	pieces       []wire.Piece    // parts of messages, of a next
}

var (
	errPollMethod = errors.New("method not allowed")
	errPollSerial = errors.New("ser is not a number")
)

// parsePoll reads a request. Only the end may come as a POST, from a beacon.
func parsePoll(r *http.Request) (pollQuery, error) {
	q, err := parsePollQuery(r.URL.Query())
	switch {
	case err != nil:
		return pollQuery{}, err
	case r.Method == http.MethodGet:
	case r.Method == http.MethodPost && q.kind == pollDisconnect:
	default:
		return pollQuery{}, errPollMethod
	}
	return q, nil
}

func parsePollQuery(v url.Values) (q pollQuery, err error) {
	switch {
	case v.Get("start") == "t":
		q.kind = pollStart
		q.callback, err = wire.ParseCallbackID(v.Get("cb"))
		return q, err
	case v.Get("dframe") == "t":
		q.kind = pollPage
		return q, nil
	case v.Get("disconn") == "t":
		q.kind = pollDisconnect
	}
	q.id, q.password = v.Get("id"), v.Get("pw")
	if q.kind == pollDisconnect {
		return q, nil
	}
	if q.serial, err = strconv.ParseInt(v.Get("ser"), 10, 64); err != nil || q.serial < 0 {
		return pollQuery{}, errPollSerial
	}
	q.pieces, err = wire.ParsePieces(v)
	return q, err
}
