package dogwood

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Timestamp is a field of a struct for a time that the server sets: its zero
// value is written as ServerTimestamp. Any other is written, and all are read, as
// milliseconds since 1970.
type Timestamp struct{ time.Time }

// MarshalJSON returns the time as it is written.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return ServerTimestamp.MarshalJSON()
	}
	return json.Marshal(t.UnixMilli())
}

// UnmarshalJSON reads milliseconds. null is the zero value.
func (t *Timestamp) UnmarshalJSON(text []byte) error {
	var ms *float64
	if err := json.Unmarshal(text, &ms); err != nil {
		return fmt.Errorf("timestamp: %w", err)
	}
	*t = Timestamp{}
	if ms != nil {
		t.Time = time.UnixMilli(int64(*ms))
	}
	return nil
}
