package server

import (
	"encoding/json"
	"strconv"
	"time"
)

// maxClock is the largest time that a clock is set to, in milliseconds: the
// largest integer that every client represents.
const maxClock = 1<<53 - 1

// getNow answers with the time at which the clock is stopped, null if it runs:
// GET /.settings/now.json
func getNow(q *request) (answer, error) {
	if t := q.s.clock.stopped.Load(); t != nil {
		return q.jsonText(strconv.FormatInt(t.UnixMilli(), 10)), nil
	}
	return q.jsonText("null"), nil
}

// putNow stops the clock at a time in milliseconds, or lets it run again if the
// body is null: PUT /.settings/now.json Only dev mode has it. Rules that
// compare times could otherwise be tested only by waiting.
func putNow(q *request) (answer, error) {
	src, err := q.text(maxSettingSize)
	if err != nil {
		return answer{}, err
	}
	var ms *int64
	if json.Unmarshal([]byte(src), &ms) != nil || ms != nil && (*ms < 0 || *ms > maxClock) {
		return answer{}, badRequest("now must be an integer, the milliseconds since 1970, or null")
	}
	if ms == nil {
		q.s.clock.stopped.Store(nil)
		return q.jsonText("null"), nil
	}
	t := time.UnixMilli(*ms)
	q.s.clock.stopped.Store(&t)
	return q.jsonText(strconv.FormatInt(*ms, 10)), nil
}

// openClock is openAdmin for the clock, which only dev mode lets administrators set.
func (q *request) openClock() error {
	if err := q.openAdmin(); err != nil {
		return err
	}
	if err := q.openDev(); err != nil {
		return err
	}
	return q.form.readPrint(q.params)
}
