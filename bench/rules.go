package bench

import _ "embed"

// openRules let everybody do everything, as fast as rules can.
const openRules = `{"rules": {".read": true, ".write": true}}`

// chatRules are rules as an application has them: who is a member of a room
// reads it and posts to it, in his own name and at the server's time; what
// points to a message must point to one that is there.
//
//go:embed chat.rules.json
var chatRules string

// chatRoomRules are the rules of the data model chat.
//
//go:embed chat-room.rules.json
var chatRoomRules string

// socialRules are the rules of the data model social.
//
//go:embed social.rules.json
var socialRules string
