package wire

import (
	"fmt"
	"net/url"
	"strconv"
)

// A Piece is a part of a message that a browser sends through long polling
// (protocol §14): parameters seg, ts and d of a poll's URL.
type Piece struct {
	Seg   int    // running number over the whole connection, from 0
	Total int    // pieces of this message
	Data  string // part of the message's web-safe base64
}

// ParsePieces reads the pieces of one poll: seg0, ts0, d0, seg1 and so on
// (protocol §14). A poll without seg0 has none. Errors wrap ErrBadFrame.
func ParsePieces(query url.Values) ([]Piece, error) {
	var pieces []Piece
	for i := 0; ; i++ {
		n := strconv.Itoa(i)
		if !query.Has("seg" + n) {
			return pieces, nil
		}
		p := Piece{Data: query.Get("d" + n)}
		var err error
		if p.Seg, err = pieceNumber(query, "seg"+n); err != nil {
			return nil, err
		}
		if p.Total, err = pieceNumber(query, "ts"+n); err != nil {
			return nil, err
		}
		pieces = append(pieces, p)
	}
}

// pieceNumber reads a parameter of one to nine digits.
func pieceNumber(query url.Values, name string) (int, error) {
	s := query.Get(name)
	if len(s) > 9 || !isDigits(s) {
		return 0, fmt.Errorf("%w: %s is %.40q", ErrBadFrame, name, s)
	}
	return strconv.Atoi(s)
}
