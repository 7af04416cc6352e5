package tree

// Limits that make a path or a value valid, whatever door it comes through
// (protocol §6.1, REST §11). They are properties of the data model, not
// settings: a stored tree always keeps them.
const (
	MaxDepth       = 32       // keys on the path to any leaf
	MaxKeyBytes    = 768      // UTF-8 bytes of one key
	MaxStringBytes = 10 << 20 // UTF-8 bytes of one string leaf
)
