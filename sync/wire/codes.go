package wire

import "strings"

// ProtocolVersion is the version in the hello and in the v parameter of
// connection URLs (protocol §1.1, §3).
const ProtocolVersion = "5"

// FeatureWriteIDs in the hello says that puts and merges may have an id, w, by which
// they are carried out once, however often they are sent (client-js/PROTOCOL.md).
const FeatureWriteIDs = "w"

// FeatureGetAll in the hello says that there is ActionGetAll.
const FeatureGetAll = "b"

// FeatureCount in the hello says that there is ActionCount.
const FeatureCount = "n"

// FeatureExplain in the hello says that there is ActionExplain.
const FeatureExplain = "x"

// FeatureReturns in the hello says that puts and merges may ask, with v, for what
// became of their server values.
const FeatureReturns = "v"

// FeatureOnlyIf in the hello says that what is left for the disconnect may have a
// condition, if.
const FeatureOnlyIf = "c"

// FeatureGetIf in the hello says that a get may have a hash, h, and is answered with
// GotSame if the value still has it, else with the value in a member v.
const FeatureGetIf = "h"

// FeatureConflicts in the hello says that puts and merges may ask, with u, that a refusal
// because a place of a unique map is taken is StatusConflict.
const FeatureConflicts = "u"

// FeatureList in the hello says that there is ActionList.
const FeatureList = "l"

// FeatureFilters in the hello says that queries may have a filter, w, and with wm how many
// children one read may look at.
const FeatureFilters = "q"

// FeatureChanges in the hello says that a listen with chg is sent what changes from then on,
// and no view first.
const FeatureChanges = "a"

// FeaturePositions in the hello says that a listen may have the place in the log up to which the
// client has all of the view, since, and that a connection with such a listen is sent
// PushPosition.
const FeaturePositions = "p"

// FeatureNotices in the hello says that there is ActionNotices.
const FeatureNotices = "k"

// Features are the extensions that the servers of this module announce in their
// hello (docs/extensions.md).
var Features = []string{
	FeatureWriteIDs,
	FeatureGetAll,
	FeatureCount,
	FeatureExplain,
	FeatureReturns,
	FeatureOnlyIf,
	FeatureGetIf,
	FeatureList,
	FeatureConflicts,
	FeatureFilters,
	FeatureChanges,
	FeaturePositions,
	FeatureNotices,
}

// Types of control messages (protocol §3, §14).
const (
	ControlHello    = "h" // server: first message of a connection
	ControlReset    = "r" // server: reconnect, to the host in d
	ControlShutdown = "s" // server: go away for good, for the reason in d
	ControlError    = "e" // server: text for the client's log
	ControlPing     = "p" // client: answer with ControlPong at once
	ControlPong     = "o" // server
	ControlSwitch   = "a" // both: the new transport of an upgrade is accepted
	ControlEnd      = "n" // both: nothing more follows on the old transport
)

// Actions of requests (protocol §4).
const (
	ActionListen          = "q"
	ActionUnlisten        = "n"
	ActionGet             = "g"
	ActionGetAll          = "bg" // an extension (FeatureGetAll)
	ActionCount           = "cn" // an extension (FeatureCount)
	ActionExplain         = "x"  // an extension (FeatureExplain)
	ActionList            = "ls" // an extension (FeatureList)
	ActionNotices         = "nt" // an extension (FeatureNotices)
	ActionPut             = "p"
	ActionMerge           = "m"
	ActionDisconnectPut   = "o"
	ActionDisconnectMerge = "om"
	ActionDisconnectStop  = "oc"
	ActionAuth            = "auth"
	ActionAdminAuth       = "gauth"
	ActionUnauth          = "unauth"
	ActionAppCheck        = "appcheck"
	ActionUnAppCheck      = "unappcheck" // Android
	ActionUnAppCheckJS    = "unappeck"   // JavaScript, spelt like this
	ActionStats           = "s"
	ActionListenOld       = "l" // before version 5; same as ActionListen
	ActionUnlistenOld     = "u" // before version 5; same as ActionUnlisten
)

// Actions of pushes (protocol §5.4).
const (
	PushData            = "d"
	PushMerge           = "m"
	PushRangeMerge      = "rm" // only to clients that sent a compound hash
	PushCancel          = "c"
	PushAuthRevoked     = "ac"
	PushAppCheckRevoked = "apc"
	PushSecurityDebug   = "sd"
	PushPosition        = "at" // an extension (FeaturePositions)
	PushNotice          = "nt" // an extension (FeatureNotices)
)

// Statuses of responses (protocol §13). A client turns one that it does not
// know into an error code by upper-casing it.
const (
	StatusOK                = "ok"
	StatusPermissionDenied  = "permission_denied"
	StatusInvalidParameters = "invalid_parameters"
	StatusDataStale         = "datastale"
	StatusTooBig            = "too_big"
	StatusConflict          = "conflict" // only of writes that ask for it (FeatureConflicts)
	StatusInvalidToken      = "invalid_token"
	StatusExpiredToken      = "expired_token"
	StatusUnavailable       = "unavailable"
	StatusFailed            = "failed"
	StatusError             = "error"
)

// Texts of error responses and of control messages, as applications see them.
const (
	TextPermissionDenied = "Permission denied"                       // StatusPermissionDenied (protocol §13)
	TextInvalidPath      = "Invalid token in path"                   // StatusInvalidParameters (protocol §4)
	TextDataStale        = "Transaction hash does not match"         // StatusDataStale (protocol §8.2)
	TextTooDeep          = "Path exceeds the maximum depth (32)"     // StatusInvalidParameters (protocol §6.1)
	TextUnknownAction    = "Unknown action"                          // StatusError (protocol §4)
	TextInvalidToken     = "Could not parse auth token."             // StatusInvalidToken (protocol §9)
	TextExpiredToken     = "Auth token is expired."                  // StatusExpiredToken (protocol §9)
	TextTooBig           = "data requested exceeds the maximum size" // StatusTooBig (protocol §5.3)

	// TextNoInstance is the reason of ControlShutdown when the database
	// instance does not exist (protocol §3).
	TextNoInstance = "Firebase error. Please ensure that you have the URL of your Firebase Realtime Database instance configured correctly."
)

// Encoded data of frequent responses.
const (
	DataNone    = `{}`                 // a listen without warnings (protocol §2)
	GotSame     = `{"same":true}`      // a get with a hash whose value has it, an extension
	DataNoIndex = `{"w":["no_index"]}` // a listen that had to filter without an index (protocol §5.2)
)

// TextNoIndex is the text of the refusal of a get whose index is not defined
// (protocol §5.2). Both arguments appear as they are; path has a leading slash.
func TextNoIndex(index, path string) string {
	if strings.HasPrefix(index, "[") { // by several child paths
		return `Index not defined, add a definition {"index": "PATTERN", "by": ` + index + `} for path "` + path + `" to the data document`
	}
	return `Index not defined, add ".indexOn": "` + index + `", for path "` + path + `", to the rules`
}
