package client

import (
	"net/url"
	"strings"
	"testing"
)

func TestQueryValues(t *testing.T) {
	for _, test := range []struct {
		flags   QueryFlags
		shallow bool
		want    string
	}{
		{QueryFlags{}, false, ``},
		{QueryFlags{OrderByKey: true}, false, `orderBy="$key"`},
		{QueryFlags{OrderByValue: true}, false, `orderBy="$value"`},
		{QueryFlags{OrderBy: "name/first"}, false, `orderBy="name/first"`},
		{QueryFlags{OrderBy: `["owner","created"]`, EqualTo: new(`["ana"]`)}, false, `equalTo=["ana"]&orderBy=["owner","created"]`},
		{QueryFlags{OrderBy: "$priority"}, false, `orderBy="$priority"`},
		{QueryFlags{LimitToFirst: new(3)}, false, `limitToFirst=3&orderBy="$key"`},
		{QueryFlags{LimitToLast: new(3)}, true, `limitToLast=3&shallow=true`},
		{QueryFlags{OrderBy: "seats", StartAt: new("5"), EndAt: new("9")}, false, `endAt=9&orderBy="seats"&startAt=5`},
		{QueryFlags{OrderBy: "seats", StartAfter: new("five"), EndBefore: new(`"9"`)}, false, `endBefore="9"&orderBy="seats"&startAfter="five"`},
		{QueryFlags{OrderByValue: true, EqualTo: new("null")}, false, `equalTo=null&orderBy="$value"`},
		{QueryFlags{OrderByValue: true, EqualTo: new("")}, false, `equalTo=""&orderBy="$value"`},
		{QueryFlags{StartAt: new("2024")}, false, `orderBy="$key"&startAt="2024"`},
		{QueryFlags{OrderByKey: true, EqualTo: new(`"2024"`)}, false, `equalTo="2024"&orderBy="$key"`},
		{QueryFlags{OrderByKey: true, EqualTo: new("true")}, false, `equalTo="true"&orderBy="$key"`},
	} {
		q, err := test.flags.Values(test.shallow)
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
		if q, err := (&QueryFlags{LimitToLast: &n}).Values(false); err == nil {
			t.Errorf("values for a limit of %d = %v, want an error", n, q)
		}
	}
}

func TestQueryTexts(t *testing.T) {
	for _, test := range []struct {
		flags QueryFlags
		want  string // of the error, "" for none
	}{
		{QueryFlags{OrderBy: "a.b"}, "--order-by a.b: it takes the name of a child, or NAME/NAME"},
		{QueryFlags{OrderBy: "/"}, "--order-by /: it takes"},
		{QueryFlags{OrderBy: "$uid"}, "$priority, $key or $value"},
		{QueryFlags{OrderBy: "$priority"}, ""},
		{QueryFlags{OrderBy: "n", StartAt: new(`{"a":1}`)}, `--start-at {"a":1}: it takes a number, true, false, null or a string`},
		{QueryFlags{OrderBy: "n", EndAt: new(`[`)}, "--end-at [: it takes"},
		{QueryFlags{OrderBy: "n", EqualTo: new(`"open`)}, `--equal-to "open: it takes`},
		{QueryFlags{OrderBy: "n", StartAfter: new(`"{"`)}, ""},
	} {
		_, err := test.flags.Values(false)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: %v, want %q", test.flags, err, test.want)
		}
	}
}
