package eval

import (
	"math"
	"time"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// The extension dates: times are numbers of milliseconds since 1970, and all texts are in UTC.

// The texts of a time: as JavaScript writes it, its day and its month.
const (
	isoLayout   = "2006-01-02T15:04:05.000Z"
	dayLayout   = "2006-01-02"
	monthLayout = "2006-01"
)

// lastTime is the end of the year 9999: later times have no text of that form.
const lastTime = 253402300799999

// dateText is a method of numbers that writes them as times.
func dateText(layout string) textMethod {
	return func(e *Evaluation, of any, _ []any) any {
		ms, ok := of.(float64)
		switch {
		case !ok:
			return e.reject(lang.String, msgNoTime, of)
		case !(ms >= 0 && ms <= lastTime):
			return e.reject(lang.String, msgNoTime, ms)
		}
		return time.UnixMilli(int64(math.Floor(ms))).UTC().Format(layout)
	}
}

// toMillis reads a text of iso, with any number of digits behind the seconds.
func toMillis(e *Evaluation, of any, _ []any) any {
	s, ok := receiver(e, of, lang.Number)
	if !ok {
		return nil
	}
	t, err := time.Parse("2006-01-02T15:04:05Z", s)
	if err != nil || t.UnixMilli() < 0 {
		return e.fail(lang.Number, msgNoDate)
	}
	return float64(t.UnixMilli())
}
