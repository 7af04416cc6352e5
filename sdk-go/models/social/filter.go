package social

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A Filter says which statuses a stream has: those that match all that is set. The
// zero Filter has all.
type Filter struct {
	Track    []string // phrases, also several in one text with commas: all words of one are in the message
	Follow   []string // logins, with or without @: the author's, or one that is mentioned
	Location *Box     // where the status is from
	Sample   *Sample  // a part of all statuses
}

// A Box is an area, in degrees.
type Box struct {
	West, South, East, North float64 // longitude and latitude of its sides
}

// A Sample is a part of all statuses: the same for the same identifier.
type Sample struct {
	Percent    int    // 1 to 100; 0: 10
	Identifier string // of the sample: another one has other statuses
}

// Match reports whether a stream with the filter has a status.
func (f Filter) Match(s Status) bool {
	return (f.Track == nil || f.tracks(s)) && (f.Follow == nil || f.follows(s)) &&
		(f.Location == nil || f.Location.has(s)) && (f.Sample == nil || f.Sample.has(s))
}

// tracks looks for words: what is between blanks, in lower case.
func (f Filter) tracks(s Status) bool {
	words := strings.Fields(strings.ToLower(s.Message))
	for _, text := range f.Track {
		for phrase := range strings.SplitSeq(strings.ToLower(text), ",") {
			wanted := strings.Fields(phrase)
			missing := func(word string) bool { return !slices.Contains(words, word) }
			if len(wanted) > 0 && !slices.ContainsFunc(wanted, missing) {
				return true
			}
		}
	}
	return false
}

func (f Filter) follows(s Status) bool {
	words := strings.Fields(strings.ToLower(s.Message))
	return slices.ContainsFunc(f.Follow, func(login string) bool {
		login = strings.ToLower(strings.TrimPrefix(login, "@"))
		return login == strings.ToLower(s.Login) || slices.Contains(words, "@"+login)
	})
}

func (b *Box) has(s Status) bool {
	lat, lon, ok := strings.Cut(s.Location, ",")
	if !ok {
		return false
	}
	y, err := strconv.ParseFloat(lat, 64)
	x, err2 := strconv.ParseFloat(lon, 64)
	return err == nil && err2 == nil && b.West <= x && x <= b.East && b.South <= y && y <= b.North
}

// has takes as many of the remainders of ids by 100 as there are percent, which
// the identifier chooses.
func (p *Sample) has(s Status) bool {
	percent := p.Percent
	if percent == 0 {
		percent = 10
	}
	h := fnv.New64a()
	h.Write([]byte(p.Identifier)) // never fails
	remainders := rand.New(rand.NewPCG(h.Sum64(), 0)).Perm(100)
	return slices.Contains(remainders[:min(max(percent, 1), 100)], int(s.ID%100))
}
