package wire

import "github.com/dogwooddb/dogwood/tree/jsontext"

// Body is the b of a request (protocol §4, §8, §9). Which members an action
// needs is for the caller to decide; here only their types are checked. Where
// absence differs from any value there is a Has field.
//
// Raw JSON is checked to be valid, nothing more: keys, depth of data and
// unpaired surrogates are for the data model.
type Body struct {
	Raw string // the whole of b

	Path    string // p, with or without a leading slash; no URL encoding
	HasPath bool   // false must not be taken for the root
	Data    string // d, raw; "null" when it was null
	HasData bool   // false is malformed in a put, not a removal (protocol §4)
	Hash    string // h; "" is the hash of an empty node
	HasHash bool

	WriteID    string // w of put and merge, an extension (FeatureWriteIDs)
	HasWriteID bool
	Returns    bool // v of put and merge, an extension (FeatureReturns)
	Conflicts  bool // u of put and merge, an extension (FeatureConflicts)

	Query        string // q, raw object
	HasQuery     bool
	Tag          int64 // t; clients count from 1, so 0 is no tag
	HasTag       bool
	CompoundHash string // ch, raw object; "" when absent (protocol §8.3)

	OnlyIf  string // if of o and om, raw object, an extension (FeatureOnlyIf); "" when absent
	Lookups string // g of bg, raw array, an extension (FeatureGetAll); "" when absent
	Since   string // since of a listen, an extension (FeaturePositions); "" for no place
	Placed  bool   // there is a since
	Changes bool   // chg of a listen or of nt, an extension (FeatureChanges): no view first
	Descend bool   // desc of ls, an extension (FeatureList): from the end of the query to its start
	Merge   bool   // m of x, an extension (FeatureExplain): the write is a merge

	Cred       string // cred of auth and gauth (protocol §9)
	AuthVar    string // authvar, raw; may be "null"
	HasAuthVar bool
	NoAuth     bool   // noauth
	Token      string // token of appcheck

	Counters string // c of stats, raw object; "" when absent
}

// set stores one member. If raw has the wrong type it returns the right one.
func (b *Body) set(key, raw string) (want string) {
	ok := true
	switch key {
	case "p":
		b.Path, ok = jsontext.Unquote(raw)
		b.HasPath, want = true, "a string"
	case "d":
		b.Data, b.HasData = raw, true
	case "h":
		b.Hash, ok = jsontext.Unquote(raw)
		b.HasHash, want = true, "a string"
	case "q":
		b.Query, b.HasQuery = raw, true
		ok, want = isObject(raw), "an object"
	case "t":
		b.Tag, ok = parseInt(raw, 1)
		b.HasTag, want = true, "an integer from 1"
	case "ch":
		b.CompoundHash = raw
		ok, want = isObject(raw), "an object"
	case "cred":
		b.Cred, ok = jsontext.Unquote(raw)
		want = "a string"
	case "authvar":
		b.AuthVar, b.HasAuthVar = raw, true
	case "noauth":
		b.NoAuth = raw == "true"
		ok, want = raw == "true" || raw == "false", "a boolean"
	case "token":
		b.Token, ok = jsontext.Unquote(raw)
		want = "a string"
	case "c":
		b.Counters = raw
		ok, want = isObject(raw), "an object"
	default:
		return b.setOwn(key, raw)
	}
	if ok {
		return ""
	}
	return want
}

// setOwn is set for the members that are ours, which official clients do not send.
func (b *Body) setOwn(key, raw string) (want string) {
	ok := true
	switch key {
	case "w":
		b.WriteID, ok = jsontext.Unquote(raw)
		b.HasWriteID, want = true, "a string"
	case "v":
		b.Returns = raw == "1"
		ok, want = b.Returns, "1"
	case "u":
		b.Conflicts = raw == "1"
		ok, want = b.Conflicts, "1"
	case "if":
		b.OnlyIf = raw
		ok, want = isObject(raw), "an object"
	case "g":
		b.Lookups = raw
		ok, want = isArray(raw), "an array"
	case "m":
		b.Merge = raw == "1"
		ok, want = raw == "0" || raw == "1", "0 or 1"
	case "since":
		b.Since, ok = jsontext.Unquote(raw)
		b.Placed, want = true, "a string"
	case "chg":
		b.Changes = raw == "1"
		ok, want = raw == "0" || raw == "1", "0 or 1"
	case "desc":
		b.Descend = raw == "1"
		ok, want = raw == "0" || raw == "1", "0 or 1"
	}
	if ok {
		return ""
	}
	return want
}
