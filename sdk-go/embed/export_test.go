package embed

// Clients returns how many clients of users a database keeps.
func Clients(d *Database) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.clients)
}
