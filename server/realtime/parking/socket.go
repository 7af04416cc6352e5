package parking

// A Socket is what a Watcher watches.
//
// Nothing here knows WebSockets: a parked socket is a descriptor and something
// to wake up. Where a system has no epoll, sockets are not parked and keep
// their goroutine.
type Socket interface {
	// WakeUp is called when something has arrived, or might have.
	WakeUp()
}
