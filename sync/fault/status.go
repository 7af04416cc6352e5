package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// Texts that clients see beside those of package wire. They are those of REST
// (REST §8), as the protocol recommends (protocol §6.1).
const (
	textIncrement   = "Invalid data; increment leaves the range of a number"
	textBadJSON     = "Invalid data; couldn't parse JSON object, array, or value."
	textBadObject   = "Invalid data; couldn't parse JSON object. Are you sending a JSON object with valid key names?"
	textBadKey      = "Invalid data; couldn't parse key beginning at %d:%d. Key value can't be empty or contain $ # [ ] / or ."
	textBadValue    = "Invalid data; unrecognized server value"
	TextWriteTooBig = "Data to write exceeds the maximum size that can be modified with a single request."
	TextReadTooBig  = "Data requested exceeds the maximum size that can be accessed with a single request."
	textUnavailable = "The service is temporarily unavailable."
	TextInternal    = "Internal server error."
)

// Status is the one place where an error becomes a status of the protocol and
// a text (protocol §13). What it does not know is ours to explain, and
// stays here.
func Status(err error) (status, text string) {
	status, text = statusOf(err)
	if detail := Detail(err); detail != "" {
		if !strings.HasSuffix(text, " .") { // which ends a list of characters
			text = strings.TrimSuffix(text, ".")
		}
		text += "; " + detail
	}
	return status, text
}

func statusOf(err error) (status, text string) {
	var noIndex *NoIndexError
	var large *UnboundedError
	var parse *tree.ParseError
	var stale *StaleError
	var denied *DeniedError
	var tooMany *TooManyError
	var looks *tree.LooksError
	var taken *TakenError
	var limit *LimitError
	switch {
	case errors.As(err, &tooMany):
		return wire.StatusTooBig, tooMany.Error()
	case errors.As(err, &looks):
		return wire.StatusTooBig, looks.Error()
	case errors.As(err, &taken):
		return wire.StatusConflict, taken.Text
	case errors.As(err, &denied):
		return wire.StatusPermissionDenied, wire.TextPermissionDenied + ": " + denied.Detail
	case errors.As(err, &stale):
		return wire.StatusDataStale, wire.TextDataStale
	case errors.As(err, &large):
		return wire.StatusTooBig, large.Error()
	case errors.As(err, &noIndex):
		return wire.StatusFailed, noIndex.Error()
	case errors.Is(err, ErrQuery), errors.Is(err, ErrMalformed), errors.Is(err, ErrOnlyIf):
		return wire.StatusInvalidParameters, err.Error()
	case errors.As(err, &parse):
		return parseStatus(parse)
	case errors.Is(err, ErrLimit), errors.As(err, &limit):
		return wire.StatusTooBig, err.Error()
	}
	for _, row := range []struct {
		err          error
		status, text string
	}{
		{ErrDenied, wire.StatusPermissionDenied, wire.TextPermissionDenied},
		{tree.ErrInvalidPath, wire.StatusInvalidParameters, wire.TextInvalidPath},
		{tree.ErrTooDeep, wire.StatusInvalidParameters, wire.TextTooDeep},
		{tree.ErrPriority, wire.StatusInvalidParameters, "Invalid data; " + tree.ErrPriority.Error()},
		{tree.ErrIncrement, wire.StatusInvalidParameters, textIncrement},
		{ErrTooBig, wire.StatusTooBig, TextReadTooBig},
		{ErrClosed, wire.StatusUnavailable, textUnavailable},
		{ErrReadOnly, wire.StatusUnavailable, "The database is read-only."},
		{ErrUnknown, wire.StatusUnavailable, textUnavailable},
		{ErrFailed, wire.StatusUnavailable, textUnavailable},
		{ErrUnavailable, wire.StatusUnavailable, textUnavailable},
		{ErrBusy, wire.StatusUnavailable, textUnavailable},
		{context.Canceled, wire.StatusUnavailable, textUnavailable}, // the client is leaving
	} {
		if errors.Is(err, row.err) {
			return row.status, row.text
		}
	}
	return wire.StatusFailed, TextInternal
}

// parseStatus is Status for data that can't be read.
func parseStatus(e *tree.ParseError) (status, text string) {
	status = wire.StatusInvalidParameters
	switch e.Kind {
	case tree.BadKey, tree.LongKey:
		return status, fmt.Sprintf(textBadKey, e.Line, e.Col)
	case tree.BadObject:
		return status, textBadObject
	case tree.BadServerValue:
		return status, textBadValue
	case tree.TooDeep:
		return status, wire.TextTooDeep
	case tree.BadPriority, tree.BadValue, tree.BadUpdatePath:
		return status, "Invalid data; " + e.Msg
	case tree.TooLong:
		return wire.StatusTooBig, "Invalid data; " + e.Msg
	}
	return status, textBadJSON
}
