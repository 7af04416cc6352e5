package main

import (
	"net/url"
	"testing"
)

func TestQueryValues(t *testing.T) {
	for _, test := range []struct {
		flags   queryFlags
		shallow bool
		want    string
	}{
		{queryFlags{}, false, ``},
		{queryFlags{OrderByKey: true}, false, `orderBy="$key"`},
		{queryFlags{OrderByValue: true}, false, `orderBy="$value"`},
		{queryFlags{OrderBy: "name/first"}, false, `orderBy="name/first"`},
		{queryFlags{OrderBy: "$priority"}, false, `orderBy="$priority"`},
		{queryFlags{LimitToFirst: new(3)}, false, `limitToFirst=3&orderBy="$key"`},
		{queryFlags{LimitToLast: new(3)}, true, `limitToLast=3`},
		{queryFlags{OrderBy: "seats", StartAt: new("5"), EndAt: new("9")}, false, `endAt=9&orderBy="seats"&startAt=5`},
		{queryFlags{OrderBy: "seats", StartAfter: new("five"), EndBefore: new(`"9"`)}, false, `endBefore="9"&orderBy="seats"&startAfter="five"`},
		{queryFlags{OrderByValue: true, EqualTo: new("null")}, false, `equalTo=null&orderBy="$value"`},
		{queryFlags{OrderByValue: true, EqualTo: new("")}, false, `equalTo=""&orderBy="$value"`},
		{queryFlags{StartAt: new("2024")}, false, `orderBy="$key"&startAt="2024"`},
		{queryFlags{OrderByKey: true, EqualTo: new(`"2024"`)}, false, `equalTo="2024"&orderBy="$key"`},
		{queryFlags{OrderByKey: true, EqualTo: new("true")}, false, `equalTo="true"&orderBy="$key"`},
	} {
		q, err := test.flags.values(test.shallow)
		if err != nil {
			t.Errorf("values of %s: %v", test.want, err)
			continue
		}
		if got, _ := url.QueryUnescape(q.Encode()); got != test.want {
			t.Errorf("values = %s, want %s", got, test.want)
		}
	}
}

func TestQueryLimitsArePositive(t *testing.T) {
	for _, n := range []int{0, -1} {
		if q, err := (&queryFlags{LimitToLast: &n}).values(false); err == nil {
			t.Errorf("values for a limit of %d = %v, want an error", n, q)
		}
	}
}
