package bench

import _ "embed"

// openRules allow everything, as fast as rules can.
const openRules = `{"rules": {".read": true, ".write": true}}`

// chatRules are rules as an application has them: members of a room read it and post to it,
// in their own name and at the server's time; a pointer to a message must lead to one that
// exists.
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
