package server

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// A beyondCase of the model social is a stream of statuses that a filter lets through.
type beyondCase struct {
	ID     string
	Filter struct {
		Track, Follow []string
		Location      []float64
		Sample        *struct {
			Percent    int
			Identifier string
		}
	}
	ExpectKeys  []string
	Deleted     string
	ExpectEvent any
}

// where returns the filter as an expression.
func (c *beyondCase) where() string {
	quoted := func(s string) string { return "'" + strings.ToLower(s) + "'" }
	var any []string
	for _, group := range c.Filter.Track {
		words := strings.Fields(group)
		for i := range words {
			words[i] = quoted(words[i])
		}
		any = append(any, "data.child('message').val().words().hasAll(["+strings.Join(words, ",")+"])")
	}
	for _, name := range c.Filter.Follow {
		name = strings.TrimPrefix(name, "@")
		any = append(any, "data.child('login').val().toLowerCase() == "+quoted(name), "data.child('message').val().words().has("+quoted("@"+name)+")")
	}
	if box := c.Filter.Location; box != nil {
		at := "data.child('location').val().part(',', %d).toNumber()"
		lat, lon := fmt.Sprintf(at, 0), fmt.Sprintf(at, 1)
		any = append(any, fmt.Sprintf("%s >= %g && %s <= %g && %s >= %g && %s <= %g", lon, box[0], lon, box[2], lat, box[1], lat, box[3]))
	}
	if s := c.Filter.Sample; s != nil {
		any = append(any, fmt.Sprintf("(data.child('id').val() + '%s'.hash()) %% 100 < %d", s.Identifier, s.Percent))
	}
	return strings.Join(any, " || ")
}

// The streams of the model social are queries with a filter: what is posted reaches those whose
// filter matches, and so does its removal.
func TestWhereStreamsOfSocial(t *testing.T) {
	text, err := os.ReadFile("../testdata/models/social/ops.json")
	if err != nil {
		t.Fatal(err)
	}
	var ops struct{ BeyondCases []beyondCase }
	if err := json.Unmarshal(text, &ops); err != nil || len(ops.BeyondCases) != 10 {
		t.Fatal(err, len(ops.BeyondCases))
	}
	text, err = os.ReadFile("../testdata/models/social/data.json")
	if err != nil {
		t.Fatal(err)
	}
	var data struct{ Statuses map[string]json.RawMessage }
	if err := json.Unmarshal(text, &data); err != nil {
		t.Fatal(err)
	}
	for _, c := range ops.BeyondCases {
		t.Run(c.ID, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { followStatuses(t, &c, data.Statuses) })
		})
	}
}

// followStatuses follows statuses while they are posted, or one is deleted.
func followStatuses(t *testing.T, c *beyondCase, statuses map[string]json.RawMessage) {
	ts := serveTest(t, Options{Dev: true})
	put := func(key, value string) { ts.admin("PUT", "/statuses/"+key+".json", value) }
	keys := []string{"s1", "s2", "s3", "s4"}
	if c.Deleted != "" {
		for _, key := range keys {
			put(key, string(statuses[key]))
		}
	}
	s := ts.follow(withParams("/statuses.json", "where", c.where(), "changes", "true"))
	defer s.Close()
	s.next() // keep-alive
	want := c.ExpectKeys
	if c.Deleted != "" {
		put(c.Deleted, "null")
		if c.ExpectEvent != nil {
			want = []string{c.Deleted}
		}
	} else {
		for _, key := range keys {
			put(key, string(statuses[key]))
		}
	}
	put("end", `{"id":0,"login":"dr_josiah redis_fan","message":"redis trees sorted sets hello @dr_josiah @redis_fan","location":"34,-118.2"}`)
	if c.Filter.Location != nil && want == nil || len(want) == 0 && c.Deleted == "" {
		put("end", `{"id":0,"location":"55,5"}`)
	}
	var got []string
	for {
		b := s.next()
		if strings.Contains(b.data, `"end"`) {
			break
		}
		for _, key := range keys {
			if strings.Contains(b.data, `"`+key+`":`) {
				got = append(got, key)
			}
		}
	}
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		t.Errorf("%s: the stream has %v, want %v", c.where(), got, want)
	}
}
