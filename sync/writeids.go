package sync

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A client that keeps its writes until they are answered does not know, after a
// crash, which of them were carried out. So it gives each one an id and sends them
// again (client-js/PROTOCOL.md). The id is put on record in the transaction of the
// write: either both are on disk or neither is.

// writerOf returns under whose name a caller's writes are on record. The ids that others
// send are theirs, also if they know those of the caller: they can neither find out what
// became of a write nor use up its id. A hash has a fixed length, whatever a client calls
// itself, and the file does not keep names of users.
func writerOf(client [16]byte, c Caller) [16]byte {
	sum := sha256.Sum256(append(client[:], c.Principal()...))
	return [16]byte(sum[:16])
}

// parseWriteID reads an id: a UUID in lower case, a colon and a number.
func parseWriteID(text string) (*store.WriteID, error) {
	uuid, number, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(number, 10, 64)
	writer, ok := parseUUID(uuid)
	if !ok || err != nil || n == 0 || n > store.MaxWriteNumber || strconv.FormatUint(n, 10) != number {
		return nil, fmt.Errorf("%w: w is %.60q, want <uuid>:<number>", fault.ErrMalformed, text)
	}
	return &store.WriteID{Writer: writer, Number: n}, nil
}

func parseUUID(s string) (id [16]byte, ok bool) {
	if len(s) != 36 || s != strings.ToLower(s) {
		return id, false
	}
	for _, at := range []int{8, 13, 18, 23} {
		if s[at] != '-' {
			return id, false
		}
	}
	digits := strings.ReplaceAll(s, "-", "")
	if len(digits) != 32 {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(digits))
	return id, err == nil
}
