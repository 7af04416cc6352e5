package lang

// The members that a receiver of a static type has. These are all names that a
// back end meets in a checked tree. On a receiver that may be a claim (Type
// contains Claims) any other name can follow, and any of the names here can be a
// claim's name unless it is called:
//
//	receiver   member           result                         arguments
//	string     length           number                         (a property)
//	           contains         boolean                        string
//	           beginsWith       boolean                        string
//	           endsWith         boolean                        string
//	           replace          string                         string, string
//	           toLowerCase      string
//	           toUpperCase      string
//	           matches          boolean                        *Regex
//	snapshot   val              null, boolean, number, string or object
//	           exists           boolean
//	           isNumber         boolean
//	           isString         boolean
//	           isBoolean        boolean
//	           getPriority      null, number or string
//	           child            snapshot                       string
//	           parent           snapshot
//	           hasChild         boolean                        string
//	           hasChildren      boolean                        none, or one *Array of strings
//	query      orderByKey       boolean                        (all are properties)
//	           orderByValue     boolean
//	           orderByPriority  boolean
//	           orderByChild     null or string
//	           startAt          null, boolean, number or string
//	           endAt            null, boolean, number or string
//	           equalTo          null, boolean, number or string
//	           limitToFirst     null or number
//	           limitToLast      null or number
//
// The Wilddog spellings length() and startsWith are length and beginsWith in a
// checked tree. The bounds of a query have a string's members, orderByChild has none
// and is compared with literals only. A string argument is one that may be a string;
// whether it is, is decided at run time.
type member struct {
	args   arguments
	result Type
}

// arguments says what a member is called with.
type arguments int

const (
	notCalled    arguments = iota // a property
	noArgs                        // ()
	oneString                     // (string)
	twoStrings                    // (string, string)
	regexOnly                     // (/regex/)
	listOrEmpty                   // () or ([string, ...])
	listOnly                      // ([string, ...])
	stringNumber                  // (string, number)
	twoNumbers                    // (number, number)
)

var stringMembers = map[string]member{
	"length":      {notCalled, Number},
	"contains":    {oneString, Boolean},
	"beginsWith":  {oneString, Boolean},
	"endsWith":    {oneString, Boolean},
	"replace":     {twoStrings, String},
	"toLowerCase": {noArgs, String},
	"toUpperCase": {noArgs, String},
	"matches":     {regexOnly, Boolean},
}

// textMembers are those that strings have in the extension text alone.
var textMembers = map[string]member{
	"words":     {noArgs, Words},
	"part":      {stringNumber, String},
	"toNumber":  {noArgs, Number},
	"substring": {twoNumbers, String},
	"hash":      {noArgs, Number},
}

// dateMembers are those that numbers have in the extension dates, as times in milliseconds since
// 1970 in UTC. Strings have toMillis.
var dateMembers = map[string]member{
	"iso":   {noArgs, String},
	"day":   {noArgs, String},
	"month": {noArgs, String},
}

var dateTextMembers = map[string]member{"toMillis": {noArgs, Number}}

// countMembers are those that snapshots have in the extension counts.
var countMembers = map[string]member{"numChildren": {noArgs, Number}}

var wordsMembers = map[string]member{
	"has":    {oneString, Boolean},
	"hasAll": {listOnly, Boolean},
}

var snapshotMembers = map[string]member{
	"val":         {noArgs, stored},
	"exists":      {noArgs, Boolean},
	"isNumber":    {noArgs, Boolean},
	"isString":    {noArgs, Boolean},
	"isBoolean":   {noArgs, Boolean},
	"getPriority": {noArgs, priority},
	"child":       {oneString, Snapshot},
	"parent":      {noArgs, Snapshot},
	"hasChild":    {oneString, Boolean},
	"hasChildren": {listOrEmpty, Boolean},
}

var queryMembers = map[string]member{
	"orderByKey":      {notCalled, Boolean},
	"orderByValue":    {notCalled, Boolean},
	"orderByPriority": {notCalled, Boolean},
	"orderByChild":    {notCalled, Null | String},
	"startAt":         {notCalled, primitive},
	"endAt":           {notCalled, primitive},
	"equalTo":         {notCalled, primitive},
	"limitToFirst":    {notCalled, Null | Number},
	"limitToLast":     {notCalled, Null | Number},
}

// membersOf returns the members of a receiver of type t that is no claim, or nil
// if it has none.
func membersOf(t Type) map[string]member {
	switch {
	case t == Snapshot:
		return snapshotMembers
	case t == Query:
		return queryMembers
	case t == Words:
		return wordsMembers
	case t&String != 0 && t&^Any == 0:
		return stringMembers
	}
	return nil
}
