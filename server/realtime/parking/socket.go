package parking

// A Socket is what a Watcher watches.
type Socket interface {
	// WakeUp is called when something has arrived, or might have.
	WakeUp()
}
