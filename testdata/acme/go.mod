// Certificates by ACME, from a real authority (Pebble, which Let's Encrypt tests clients with).
// A module of its own, so that the authority stays out of Dogwood's.
module github.com/dogwooddb/dogwood/testdata/acme

go 1.26.0

require (
	github.com/dogwooddb/dogwood v0.0.0
	github.com/letsencrypt/challtestsrv v1.4.2
	github.com/letsencrypt/pebble/v2 v2.10.3
)

require (
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/miekg/dns v1.1.62 // indirect
	golang.org/x/crypto v0.59.0 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)

replace github.com/dogwooddb/dogwood => ../..
